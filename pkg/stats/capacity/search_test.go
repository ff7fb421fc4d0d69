package capacity

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// law gives the probability that a window at a rate passes, and that it stalls.
type law struct {
	threshold, spread, lapse, stalls float64
}

// window draws a window by the law.
func (l law) window(rng *rand.Rand, rate float64) Window {
	w := Window{Rate: rate, Offered: 10_000}
	pass := rng.Float64() < (1-l.lapse)*.5*math.Erfc(-math.Log(l.threshold/rate)/l.spread/math.Sqrt2)
	if !pass {
		w.Over = 5000
	}
	if rng.Float64() < l.stalls {
		w.Over, w.Pause = 150, 100*time.Millisecond
	}
	return w
}

// capacity returns the rate at which a share of windows pass.
func (l law) capacity(share float64) float64 {
	return l.threshold * math.Exp(-l.spread*math.Sqrt2*math.Erfinv(2*share/(1-l.lapse)/(1-l.stalls)-1))
}

// run searches until the end.
func run(t *testing.T, o Options, measure func(Probe) Window) (*Search, []Probe) {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatalf("new search: %v", err)
	}
	var probes []Probe
	for {
		p, more := s.Next()
		if !more {
			return s, probes
		}
		if probes = append(probes, p); len(probes) > 300 {
			t.Fatalf("no end after %d windows: %+v", len(probes), s.Verdict())
		}
		s.Observe(measure(p))
	}
}

// TestCoverage: the interval holds the truth as often as it claims, for laws that the model has and
// at rates that are not on the grid. tools/verdicts does the same with queues.
func TestCoverage(t *testing.T) {
	const seeds = 12
	for k, l := range []law{{threshold: 5000, spread: .001}, {threshold: 777, spread: .02}, {threshold: 21_400, spread: .05, lapse: .05}} {
		inside, near := 0, 0
		o := Defaults()
		o.Hold = false
		for seed := range seeds {
			rng := rand.New(rand.NewPCG(uint64(seed+1), uint64(k)))
			s, _ := run(t, o, func(p Probe) Window { return l.window(rng, p.Rate) })
			v, truth := s.Verdict(), l.capacity(o.Share)
			if v.Low <= truth && truth <= v.High {
				inside++
			}
			if math.Abs(v.Rate/truth-1) <= .05 {
				near++
			}
			if v.Reason != Found && v.Reason != Wide {
				t.Errorf("%+v, seed %d: %+v", l, seed, v)
			}
			if v.Windows > o.Windows || v.Reason == Found && v.High > v.Low*(1+o.Tolerance) {
				t.Errorf("%+v, seed %d: %+v is wider or longer than asked for", l, seed, v)
			}
		}
		if inside < seeds*93/100 || near < seeds*90/100 {
			t.Errorf("%+v: the truth is inside %d of %d intervals, the estimate near it in %d", l, inside, seeds, near)
		}
	}
}

// TestLengthByRate: if windows are longer at lower rates, the interval holds the rate at which the
// given share of equally long windows pass. Each request is slow independently, so the probability
// for a window follows from its number of requests.
func TestLengthByRate(t *testing.T) {
	const seeds = 12
	o := Defaults()
	o.Start, o.Least, o.Hold = 20, 12.5, false
	slow := func(rate float64) float64 { return .002 + .006*math.Pow(rate/45, 4) }
	requests := func(rate float64) int { return int(rate * min(max(500/rate, 8), 32)) }
	passes := func(rate float64) float64 { // by the binomial law
		n, p := requests(rate), slow(rate)
		term, sum := math.Pow(1-p, float64(n)), 0.0
		for k := range int(float64(n)*(1-o.At)+1e-9) + 1 {
			sum += term
			term *= float64(n-k) / float64(k+1) * p / (1 - p)
		}
		return sum
	}
	low, high := 16.0, 200.0 // windows from 15.6/s on have 500 requests
	for range 60 {
		if middle := (low + high) / 2; passes(middle) > o.Share {
			low = middle
		} else {
			high = middle
		}
	}
	inside := 0
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed+1), 17))
		s, _ := run(t, o, func(p Probe) Window {
			w := Window{Rate: p.Rate, Offered: int64(requests(p.Rate))}
			for range w.Offered {
				if rng.Float64() < slow(p.Rate) {
					w.Over++
				}
			}
			return w
		})
		v := s.Verdict()
		if v.Low <= low && low <= v.High {
			inside++
		}
		if v.Reason != Found && v.Reason != Wide || math.Abs(v.Rate/low-1) > .15 {
			t.Errorf("seed %d: %+v, want %.1f/s", seed, v, low)
		}
	}
	if inside < seeds*90/100 {
		t.Errorf("the truth, %.1f/s, is inside %d of %d intervals", low, inside, seeds)
	}
}

// TestStalls: pauses in a third of all windows are named, whatever the rate, and one pause
// is not a reason to give up.
func TestStalls(t *testing.T) {
	const seeds = 8
	named := 0
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed+1), 9))
		l := law{threshold: 2000, spread: .02, stalls: .33}
		s, _ := run(t, Defaults(), func(p Probe) Window { return l.window(rng, p.Rate) })
		if v := s.Verdict(); v.Reason == Stalls {
			named++
			if v.Windows >= 30 && (v.Low > 2000 || v.High < 1900) {
				t.Errorf("seed %d: without stalls the rate is in %v .. %v, want about 1970", seed, v.Low, v.High)
			}
		}
		l.stalls = .03
		s, _ = run(t, Defaults(), func(p Probe) Window { return l.window(rng, p.Rate) })
		if v := s.Verdict(); v.Reason == Stalls || v.Rate < 1700 || v.Rate > 2050 {
			t.Errorf("seed %d: with 3 %% of windows stalled the verdict is %+v", seed, v)
		}
	}
	if named < seeds*9/10 {
		t.Errorf("stalls are named in %d of %d", named, seeds)
	}
	s, _ := run(t, Defaults(), func(p Probe) Window {
		return Window{Rate: p.Rate, Offered: 1000, Over: 100, Pause: time.Second}
	})
	if v := s.Verdict(); v.Reason != Stalls || v.Windows > MinWindows || v.Rate != 0 {
		t.Errorf("every window stalls: %+v, want stalls soon", v)
	}
}

// TestPausesOfLoad: a server that pauses only at high rates has a capacity, although few
// windows show that the pauses depend on the rate, and one of them failed at a low rate.
func TestPausesOfLoad(t *testing.T) {
	const seeds = 40
	named := 0
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed+1), 11))
		o := Defaults()
		o.Start, o.Windows, o.Hold = 500, 24, false
		s, _ := run(t, o, func(p Probe) Window {
			w := Window{Rate: p.Rate, Offered: 1000}
			if p.Rate > 1300*math.Exp(.15*rng.NormFloat64()) || rng.Float64() < .08 {
				w.Over = 100
				if p.Rate > 1100 {
					w.Pause = time.Second
				}
			}
			return w
		})
		v := s.Verdict()
		if v.Reason == Stalls {
			named++
		} else if v.Low > 1300 || v.High < 1000 {
			t.Errorf("seed %d: %+v, want about 1,100", seed, v)
		}
	}
	if named > seeds/10 {
		t.Errorf("%d of %d servers that pause by their load are said to stall at any rate", named, seeds)
	}
}

// sharp passes up to a rate.
func sharp(capacity float64) func(Probe) Window {
	return func(p Probe) Window {
		w := Window{Rate: p.Rate, Offered: 1000}
		if p.Rate > capacity {
			w.Over = 900
		}
		return w
	}
}

func TestEnds(t *testing.T) {
	lateAbove := func(rate float64) func(Probe) Window {
		return func(p Probe) Window {
			w := Window{Rate: p.Rate, Offered: 1000}
			if p.Rate > rate {
				w.Over, w.Late, w.Belated = 500, 500, 500
			}
			return w
		}
	}
	for _, tt := range []struct {
		name    string
		options func(*Options)
		measure func(Probe) Window
		reason  Reason
		at      float64
		rate    [2]float64
	}{
		{"a sharp threshold", nil, sharp(5000), Found, 0, [2]float64{4800, 5100}},
		{"a low threshold", nil, sharp(7), Found, 0, [2]float64{6.6, 7.2}},
		{"a high threshold", nil, sharp(400_000), Found, 0, [2]float64{380_000, 410_000}},
		{"late clients", nil, lateAbove(3000), ClientLimited, 4000, [2]float64{}},
		{"a full store", nil, func(p Probe) Window { return Window{Rate: p.Rate, Offered: 1, StoreFull: p.Rate > 900} }, StoreFull, 1000, [2]float64{}},
		{"nothing passes", nil, sharp(0), TooLow, 1, [2]float64{}},
		{"everything passes", func(o *Options) { o.Highest = 900 }, sharp(1e9), TooHigh, 900, [2]float64{}},
		{"errors alone", func(o *Options) { o.Highest = 900 }, func(p Probe) Window { return Window{Rate: p.Rate, Offered: 1000, Failed: 2} }, TooLow, 1, [2]float64{}},
		{"nothing is offered", nil, func(p Probe) Window { return Window{Rate: p.Rate} }, ClientLimited, 250, [2]float64{}},
	} {
		o := Defaults()
		if tt.options != nil {
			tt.options(&o)
		}
		s, probes := run(t, o, tt.measure)
		v := s.Verdict()
		if v.Reason != tt.reason || v.At != tt.at || tt.rate[1] > 0 && (v.Rate < tt.rate[0] || v.Rate > tt.rate[1]) {
			t.Errorf("%s: %+v, want %s at %g, rate in %v", tt.name, v, tt.reason, tt.at, tt.rate)
		}
		for _, p := range probes {
			if p.Rate < o.Least || o.Highest > 0 && p.Rate > o.Highest {
				t.Errorf("%s: the rate %g is outside of %g .. %g", tt.name, p.Rate, o.Least, o.Highest)
			}
		}
		if again := s.Observe(Window{Offered: 1}); again != Pass || s.Verdict() != v {
			t.Errorf("%s: a window after the end changed the verdict", tt.name)
		}
	}
}

// TestVoid: a void window is repeated and does not count, and the third in a row ends
// the search.
func TestVoid(t *testing.T) {
	n := 0
	s, probes := run(t, Defaults(), func(p Probe) Window {
		w := sharp(5000)(p)
		if n++; n%3 != 0 {
			w.Over, w.Late, w.Belated = 19, 11, 11 // among 1000, where 1 % may be
		}
		return w
	})
	v := s.Verdict()
	if v.Reason != Found || v.Voided < v.Windows {
		t.Errorf("two void windows before each valid one: %+v, want found", v)
	}
	for i := 0; i+2 < len(probes); i += 3 {
		if probes[i] != probes[i+1] || probes[i] != probes[i+2] {
			t.Errorf("windows %d to %d are at %v, want one rate", i, i+2, probes[i:i+3])
		}
	}
}

// TestLate: a late client excuses only failures that it can have caused.
func TestLate(t *testing.T) {
	for _, tt := range []struct {
		w    Window
		want Outcome
	}{
		{Window{Offered: 1000, Over: 10, Late: 1000, Belated: 1000}, Pass},
		{Window{Offered: 1000, Over: 11, Late: 10, Belated: 10}, Fail},
		{Window{Offered: 1000, Over: 21, Late: 11, Belated: 11}, Void},
		{Window{Offered: 1000, Over: 21, Late: 1000, Belated: 11}, Void},
		{Window{Offered: 1000, Over: 21, Late: 1000, Belated: 10}, Fail},
		{Window{Offered: 1000, Over: 22, Late: 11, Belated: 11}, Fail},
		{Window{Offered: 1000, Over: 22, Late: 11, Belated: 11, Pause: time.Second}, Stalled},
		{Window{Offered: 1000, Over: 12, Failed: 12, Late: 11, Belated: 11}, Void},
		{Window{Offered: 1000, Over: 13, Failed: 13, Late: 11, Belated: 11}, Fail},
		{Window{}, Void},
	} {
		if got := Defaults().Judge(tt.w); got != tt.want {
			t.Errorf("%+v is %q, want %q", tt.w, got, tt.want)
		}
	}
}

// TestHold: the final rate is held, and lower ones until one passes.
func TestHold(t *testing.T) {
	for _, holdable := range []float64{6000, 4900, 4600, 0} {
		s, probes := run(t, Defaults(), func(p Probe) Window {
			if p.Hold {
				return sharp(holdable)(p)
			}
			return sharp(5000)(p)
		})
		v := s.Verdict()
		probes = slices.DeleteFunc(probes, func(p Probe) bool { return !p.Hold })
		if len(probes) != v.Holds || v.Reason != Found {
			t.Fatalf("%d holds, %+v", len(probes), v)
		}
		for i := 1; i < len(probes); i++ {
			if probes[i].Rate >= probes[i-1].Rate {
				t.Errorf("the hold went from %g to %g, want lower", probes[i-1].Rate, probes[i].Rate)
			}
		}
		if want := holdable > 0; (v.Held > 0) != want || v.Held > max(holdable, 0) || want && v.Held < .9*min(holdable, 5000) {
			t.Errorf("held %g where %g can be held", v.Held, holdable)
		}
	}
}

// TestHoldEnds: a late client and a full store end the hold, and the result before it
// remains.
func TestHoldEnds(t *testing.T) {
	for want, spoil := range map[Reason]func(*Window){
		ClientLimited: func(w *Window) { w.Over, w.Late, w.Belated = w.Offered, w.Offered, w.Offered }, StoreFull: func(w *Window) { w.StoreFull = true },
	} {
		for _, failed := range []int{0, 2} {
			held := 0
			s, probes := run(t, Defaults(), func(p Probe) Window {
				w := sharp(5000)(p)
				if p.Hold {
					if held++; held <= failed {
						return sharp(0)(p)
					}
					spoil(&w)
				}
				return w
			})
			v := s.Verdict()
			if v.Reason != Found || v.Rate < 4800 || v.Rate > 5100 || v.Low > v.Rate || v.High < v.Rate {
				t.Errorf("%s in the hold: %+v, want the capacity that was found", want, v)
			}
			if v.Unheld != want || v.Held != 0 || v.Holds != failed || v.At != probes[len(probes)-1].Rate || v.Voided != 0 {
				t.Errorf("%s after %d holds: %+v, want nothing held", want, failed, v)
			}
		}
	}
}

// TestTokenBucket: a server that gives out 5,000 tokens a second and keeps one. Requests that are
// due evenly above its rate wait ever longer, so a hold of a minute finds waits for which a window
// of eight seconds is too short.
func TestTokenBucket(t *testing.T) {
	const tokens, settle, limit = 5000.0, 2.0, .02 // per second; seconds
	for _, start := range []float64{100, 250, 333, 1000, 1234, 7000, 40_000} {
		o := Defaults()
		o.Start = start
		s, _ := run(t, o, func(p Probe) Window {
			length := 8.0
			if p.Hold {
				length = 60
			}
			w := Window{Rate: p.Rate, Offered: int64(length * p.Rate)}
			if p.Rate > tokens { // a request waits for its due time times the share without a token
				over := limit / (1 - tokens/p.Rate)
				w.Over = int64(max(0, settle+length-max(over, settle)) * p.Rate)
			}
			return w
		})
		v := s.Verdict()
		if v.Reason != Found || v.Rate < 4850 || v.Rate > 5050 {
			t.Errorf("from %g/s: %+v, want 4,850 to 5,050/s", start, v)
		}
		if v.Held < 4700 || v.Held > 5002 {
			t.Errorf("from %g/s: held %g/s, want at most 5,002/s", start, v.Held)
		}
	}
}

func TestOptions(t *testing.T) {
	_, err := New(Options{Share: .99, Highest: 1, Start: 2})
	if err == nil {
		t.Fatal("options without a limit are accepted")
	}
	for _, want := range []string{"latency must be positive", "share of windows must be from 50 % to 95 %, got 99 %", "at least 12 windows", "highest rate must be at least"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
}

// TestPosterior compares the grid with a direct computation.
func TestPosterior(t *testing.T) {
	p := newPosterior(1000)
	windows := []counted{{rate: 1000}, {rate: 500, pass: true}, {rate: 800, pass: true}, {rate: 900}, {rate: 850, pass: true}}
	for _, w := range windows {
		p.observe(w.rate, w.pass)
	}
	sum, mean := 0.0, 0.0
	for mu := range cells {
		for _, sigma := range spreads() {
			for k, lapse := range lapses() {
				weight := excuses()[k]
				for _, w := range windows {
					q := floor + (1-floor-lapse)*.5*math.Erfc(-(math.Log(p.rate(float64(mu)))-math.Log(p.rate(float64(p.cell(w.rate)))))/sigma/math.Sqrt2)
					if !w.pass {
						q = 1 - q
					}
					weight *= q
				}
				sum, mean = sum+weight, mean+weight*float64(mu)
			}
		}
	}
	got := 0.0
	for i, w := range p.weights {
		got += w * float64(i/(len(p.spreads)*len(p.lapses)))
	}
	if math.Abs(got-mean/sum) > 1e-6 {
		t.Errorf("the mean threshold lies in cell %.3f, computed directly %.3f", got, mean/sum)
	}
	if b := betaAbove(3, 5, .3); math.Abs(b-.6470695) > 1e-6 { // 1 - I_0.3(3, 5)
		t.Errorf("P(Beta(3, 5) > 0.3) = %.7f, want 0.6470695", b)
	}
}
