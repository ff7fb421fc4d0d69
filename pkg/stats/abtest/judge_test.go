package abtest

import (
	"math"
	"slices"
	"strings"
	"testing"
)

var rule = Rule{Alpha: .05, Margin: .03}

// around returns n differences around a shift, alternating and all differently large.
func around(shift, spread float64, n int) Pairs {
	d := make(Pairs, n)
	for i := range d {
		d[i] = shift + spread*(1+float64(i)/100)*float64(1-2*(i%2))
	}
	return d
}

func throughput(s Sample) Metric {
	return Metric{Name: "throughput", HigherIsBetter: true, Decides: true, Sample: s}
}

func p99(s Sample) Metric { return Metric{Name: "p99", Decides: true, Sample: s} }

func TestVerdicts(t *testing.T) {
	for _, tt := range []struct {
		name    string
		metrics []Metric
		want    Verdict
		each    []Verdict
	}{
		{"a fall of throughput", []Metric{throughput(around(-.05, .01, 8))}, Worse, []Verdict{Worse}},
		{"a rise of throughput", []Metric{throughput(around(.05, .01, 8))}, Better, []Verdict{Better}},
		{"a rise of latency", []Metric{p99(around(.1, .01, 8))}, Worse, []Verdict{Worse}},
		{"the same", []Metric{throughput(make(Pairs, 8)), p99(make(Pairs, 8))}, Equivalent, []Verdict{Equivalent, Equivalent}},
		{"a certain difference inside the margin", []Metric{throughput(around(-.01, .001, 8))}, Equivalent, []Verdict{Equivalent}},
		{"a wide spread", []Metric{throughput(around(0, .1, 8))}, Inconclusive, []Verdict{Inconclusive}},
		{"too few pairs", []Metric{throughput(around(-.2, .001, 4))}, Inconclusive, []Verdict{Inconclusive}},
		{"one metric worse", []Metric{throughput(make(Pairs, 8)), p99(around(.1, .01, 8))}, Worse, []Verdict{Equivalent, Worse}},
		{"one metric better, one unknown", []Metric{throughput(around(.1, .01, 8)), p99(around(0, .3, 8))}, Inconclusive, []Verdict{Better, Inconclusive}},
		{"one metric better", []Metric{throughput(around(.1, .01, 8)), p99(make(Pairs, 8))}, Better, []Verdict{Better, Equivalent}},
		{"a metric that does not decide", []Metric{throughput(make(Pairs, 8)), {Name: "p50", Sample: around(.5, .01, 8)}}, Equivalent, []Verdict{Equivalent, ""}},
		{"groups", []Metric{throughput(Groups{A: around(7, .01, 5), B: around(6.9, .01, 5)})}, Worse, []Verdict{Worse}},
		{"no metric decides", []Metric{{Name: "p50", Sample: around(.5, .01, 8)}}, Inconclusive, []Verdict{""}},
	} {
		got := Judge(rule, tt.metrics)
		var each []Verdict
		for _, f := range got.Findings {
			each = append(each, f.Verdict)
		}
		if got.Verdict != tt.want || !slices.Equal(each, tt.each) {
			t.Errorf("%s: %s %q, want %s %q", tt.name, got.Verdict, each, tt.want, tt.each)
		}
	}
}

// TestHolmDecides: for two metrics, a p-value between alpha/2 and alpha finds nothing unless the
// other metric is found first.
func TestHolmDecides(t *testing.T) {
	between := withSum(8, 3) // two-sided p 0.039
	if got := Judge(rule, []Metric{throughput(between)}).Verdict; got != Worse {
		t.Errorf("alone: %s, want worse", got)
	}
	if got := Judge(rule, []Metric{throughput(between), p99(withSum(8, 10))}).Verdict; got != Inconclusive {
		t.Errorf("with another metric that shows nothing: %s, want inconclusive", got)
	}
	if got := Judge(rule, []Metric{throughput(between), p99(withSum(8, 0))}); got.Findings[0].Verdict != Worse {
		t.Errorf("with another metric that is found: %+v, want worse", got.Findings[0])
	}
}

func TestHolm(t *testing.T) {
	got := Holm([]float64{.01, .04, .03, .005})
	for i, want := range []float64{.03, .06, .06, .02} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("adjusted %v, want .03 .06 .06 .02", got)
			break
		}
	}
	got = Holm([]float64{.04, .001, .03, .5})
	for i, want := range []float64{.09, .004, .09, .5} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Fatalf("adjusted %v, want .09 .004 .09 .5", got)
		}
	}
	if got := Holm([]float64{.9, .8}); got[0] != 1 || got[1] != 1 {
		t.Errorf("adjusted %v, want 1 and 1", got)
	}
}

// TestTooFewSaysSo: if so little data could never give a verdict, the result names the size that
// could.
func TestTooFewSaysSo(t *testing.T) {
	got := Judge(rule, []Metric{throughput(Groups{A: []float64{1, 2, 3}, B: []float64{4, 5, 6}})})
	if got.Verdict != Inconclusive || !strings.Contains(strings.Join(got.Reasons, " "), "needs at least 4 runs of each") {
		t.Errorf("%s %q, want inconclusive and the 4 runs that are needed", got.Verdict, got.Reasons)
	}
	if f := got.Findings[0]; f.More != 0 || f.Reach != 0 {
		t.Errorf("the spread of 3 runs is no basis for a plan: got %d more, and a margin of %g", f.More, f.Reach)
	}
}

// TestTooNoisy: if no sensible sample size decides, the result states the margin that the present
// pairs can decide, and pairs with that spread do decide it.
func TestTooNoisy(t *testing.T) {
	pairs := Pairs{-.3, .3, -.2, .25, -.25, .2, .01, -.02}
	got := Judge(rule, []Metric{throughput(pairs)}).Findings[0]
	if got.Verdict != Inconclusive || got.More != 0 || got.Reach <= rule.Margin {
		t.Fatalf("%s, %d more, a margin of %g: want inconclusive with a margin beyond %g", got.Verdict, got.More, got.Reach, rule.Margin)
	}
	wide := rule
	wide.Margin = got.Reach
	if again := Judge(wide, []Metric{throughput(pairs)}).Findings[0]; again.Verdict != Equivalent {
		t.Errorf("with the margin of %g that can be decided, the verdict is %s", got.Reach, again.Verdict)
	}
}

// TestLooking: the same pairs are judged more strictly if the rule looks more often, and a rule
// with one look has the test's p-value.
func TestLooking(t *testing.T) {
	d := withSum(8, 3)
	once := Judge(Rule{Alpha: .05, Margin: .03, Looks: []int{8}}, []Metric{throughput(d)})
	often := Judge(Rule{Alpha: .05, Margin: .03, Looks: []int{8, 10, 12}}, []Metric{throughput(d)})
	if once.Verdict != Worse || often.Verdict != Inconclusive {
		t.Errorf("one look %s, three looks %s; want worse and inconclusive", once.Verdict, often.Verdict)
	}
	if early := Judge(Rule{Alpha: .05, Margin: .03, Looks: []int{10, 12}}, []Metric{throughput(d)}); early.Findings[0].P < .99 {
		t.Errorf("before its first look a rule has p %v, want 1", early.Findings[0].P)
	}
}

// TestLevel: a level is found at one look, and over all looks not more often than alpha.
func TestLevel(t *testing.T) {
	if once := Level([]int{8}, .05); once != .05 {
		t.Errorf("one look at %v, want 0.05", once)
	}
	looks := []int{8, 10, 12}
	level, price := Level(looks, .05), priceOf(looks)
	if got := price.of(level, price.twoSided); level <= .05/3 || level >= .05 || got > .05 || got < .03 {
		t.Errorf("three looks at %v each are %v over all, want at most 0.05 from between 0.017 and 0.05", level, got)
	}
	if none := Level([]int{2, 4}, .05); none != 0 {
		t.Errorf("looks at 2 and 4 pairs find a difference at %v, want none", none)
	}
}

// TestPriceOfOneLook compares the drawn distribution with the exact one.
func TestPriceOfOneLook(t *testing.T) {
	price := priceOf([]int{10})
	for sum := range 28 {
		less, _ := withSum(10, sum).Test(0)
		if got := price.of(less, price.oneSided); math.Abs(got-less) > .01 {
			t.Errorf("P(W <= %d): drawn %.4f, exact %.4f", sum, got, less)
		}
		if got, want := price.of(2*less, price.twoSided), min(1, 2*less); math.Abs(got-want) > .01 {
			t.Errorf("two-sided p of %d: drawn %.4f, exact %.4f", sum, got, want)
		}
	}
}

func TestConfirm(t *testing.T) {
	d := around(-.05, .01, 8)
	before := Judge(rule, []Metric{throughput(d), p99(make(Pairs, 8))})
	if before.Verdict != Worse {
		t.Fatalf("before the block: %s, want worse", before.Verdict)
	}
	for _, tt := range []struct {
		block Pairs
		want  Verdict
	}{{Pairs{-.04, -.06}, Worse}, {Pairs{-.06, .01}, Worse}, {Pairs{.04, .03}, Inconclusive}, {Pairs{-.03, .04}, Inconclusive}, {Pairs{0, 0}, Inconclusive}} {
		all := append(slices.Clone(d), tt.block...)
		got := Confirm(rule, before, []Metric{throughput(all), p99(make(Pairs, 10))}, 2)
		if got.Verdict != tt.want || (tt.want == Inconclusive) != (len(got.Reasons) == 1) {
			t.Errorf("block %v: %s %q, want %s", tt.block, got.Verdict, got.Reasons, tt.want)
		}
	}
}

// TestPlanned: the planned numbers follow Noether's formula for the signed rank: (1.96 + 0.84)^2 *
// pi/3 for a shift by one standard deviation is 8.2 pairs.
func TestPlanned(t *testing.T) {
	d := Pairs{1, 1, 1, 1, 1, 1, 1, 1}
	for i := range d {
		d[i] += math.Sqrt(7.0/8) * float64(1-2*(i%2)) // a standard deviation of 1
	}
	if got := Planned(d, .05, .03, 1); got != 9 {
		t.Errorf("%d pairs, want 9", got)
	}
	if got := Detectable(d, 9, 1, .05); math.Abs(got-.956) > .005 {
		t.Errorf("9 pairs find %.3f deviations, want 0.956", got)
	}
	if got := Detectable(d, 5, 1, .05); !math.IsInf(got, 1) {
		t.Errorf("5 pairs find %v at 5 %%, want nothing", got)
	}
	if got := Planned(around(0, .1, 8), .05, math.Log1p(.03), 1); got < 50 || got > 200 {
		t.Errorf("%d pairs show that a shift of 0 lies inside 3 %% at a spread of 10 %%, want about 105", got)
	}
}
