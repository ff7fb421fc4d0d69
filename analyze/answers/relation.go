package answers

import (
	"fmt"
	"math"
	"slices"

	"github.com/coreos/dbtester/analyze/answers/compare"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/stats/abtest"
)

// relate compares the columns within each set by the number at its stage. Probabilities are
// adjusted over all pairs in all sets.
func (k *ranking) relate() {
	if k.related || k.number.metric == "" {
		return
	}
	k.related = true
	var ps []float64
	for _, one := range k.sets {
		for i, a := range one.columns {
			for _, b := range one.columns[i+1:] {
				r := k.relationOf(a, b)
				ps = append(ps, r.p)
				k.relations = append(k.relations, r)
			}
		}
	}
	for i, p := range abtest.Holm(ps) {
		k.relations[i].decide(p, k.number.less)
	}
}

// relationOf tests one pair.
func (k *ranking) relationOf(a, b int) relation {
	r := relation{a: a, b: b, p: 1}
	report, err := compare.Columns(k.columns[a].Runs, k.columns[b].Runs)
	if err != nil || len(report.Invalid) > 0 {
		return r
	}
	stage := 0
	if !k.number.whole {
		stage = k.stage(k.columns[a].Runs[0])
	}
	if f, ok := report.Finding(k.number.metric, stage); ok && f.Verdict != "" {
		r.report, r.finding, r.p = report, f, f.P
	}
	return r
}

// decide decides by the probability adjusted over all pairs. It names no winner if another number
// at the same stage is decided the other way.
func (r *relation) decide(adjusted float64, less bool) {
	if r.report == nil {
		return
	}
	r.p = max(adjusted, r.finding.Adjusted)
	r.equal = r.finding.Verdict == abtest.Equivalent
	if r.p > compare.Alpha || r.finding.Verdict != abtest.Better && r.finding.Verdict != abtest.Worse {
		return
	}
	r.told, r.ahead = true, r.a
	if r.finding.Shift > 0 != less {
		r.ahead = r.b
	}
	for _, other := range r.report.Beside(r.finding.Name) {
		if (other.Verdict == abtest.Better || other.Verdict == abtest.Worse) && other.Verdict != r.finding.Verdict {
			r.told = false
		}
	}
}

// between returns the relation between two columns; false if they are in different sets.
func (k *ranking) between(a, b int) (relation, bool) {
	k.relate()
	at := slices.IndexFunc(k.relations, func(r relation) bool { return r.a == a && r.b == b || r.a == b && r.b == a })
	if at < 0 {
		return relation{}, false
	}
	return k.relations[at], true
}

// family returns the number of tests made together, which determines the differences that the runs
// can detect.
func (k *ranking) family() abtest.Screen {
	columns := 0
	for _, one := range k.sets {
		columns = max(columns, len(one.columns))
	}
	f := abtest.Screen{Columns: columns, Pairs: len(k.relations), Metrics: 1, Alpha: compare.Alpha}
	for _, r := range k.relations {
		if r.report != nil {
			f.Metrics = max(f.Metrics, r.report.Deciding())
			f.Moved = (f.Metrics + 1) / 2
		}
	}
	return f
}

// planned is the difference, as a share, that is stated to be found with some probability.
const planned = .2

// reach states the difference that a trial count per column can detect, given their deviation.
func (k *ranking) reach(trials int) string {
	var spreads []float64
	for _, r := range k.relations {
		if r.report != nil && r.report.Interleaved {
			spreads = append(spreads, r.finding.Sample.Spread()/math.Sqrt2)
		}
	}
	if len(spreads) == 0 {
		return "a winner is named only if the difference exceeds chance"
	}
	slices.Sort(spreads)
	spread := spreads[len(spreads)/2]
	f := k.family()
	f.Trials = trials
	power := f.Power(math.Log1p(planned), spread)
	cases := fmt.Sprintf("about %.0f of 100 cases", 100*power)
	if power > .985 {
		cases = "nearly all cases"
	}
	return fmt.Sprintf("a difference of %.0f %% would be found in %s, because trials of one database vary by %s %%",
		100*planned, cases, table.Significant(compare.Percent(spread)))
}

// stage returns the index of the stage at which the number is taken.
func (k *ranking) stage(r *run.Run) int { return run.Largest(r.Stages) }

// told states the orders among columns that may be named; say words each one. It returns "" if no
// order may be named.
func (k *ranking) told(columns []int, say func(Claim) string) string {
	k.relate()
	var parts []string
	for _, r := range k.relations {
		if r.told && slices.Contains(columns, r.a) {
			k.claim(r, "")
			parts = append(parts, say(k.claims[len(k.claims)-1]))
		}
	}
	return names(parts)
}

// claim records that the sentence orders a pair.
func (k *ranking) claim(r relation, point string) {
	ahead, behind := k.columns[r.a], k.columns[r.b]
	if r.ahead == r.b {
		ahead, behind = behind, ahead
	}
	gap := 0.0
	if low, high := r.finding.Low, r.finding.High; low > 0 || high < 0 {
		gap = math.Expm1(min(math.Abs(low), math.Abs(high)))
	}
	x, y := k.value(ahead), k.value(behind)
	k.claims = append(k.claims, Claim{
		Ahead: ahead.Name, Behind: behind.Name, Number: k.number.name, Point: point,
		Ratio: x / y, P: r.p, Trials: min(len(ahead.Runs), len(behind.Runs)), Gap: gap,
	})
}

// measureOf returns the number for a run at the compared stage.
func (k *ranking) measureOf(r *run.Run) run.Measure {
	at := k.stage(r)
	return k.number.of(r, r.Stages[at])
}

// value returns a column's median for the number; NaN if unknown.
func (k *ranking) value(c Column) float64 {
	spread, first := c.Measure(k.measureOf)
	if !first.Known() {
		return math.NaN()
	}
	return spread.Median
}

// claimed reports whether the sentence orders a pair.
func (k *ranking) claimed(r relation) bool {
	return slices.ContainsFunc(k.claims, func(c Claim) bool {
		return c.Ahead == k.columns[r.ahead].Name && c.Behind == k.columns[r.a+r.b-r.ahead].Name
	})
}

// signAt returns the sign of the difference b - a at a stage; 0 if its interval contains 0.
func (k *ranking) signAt(r relation, stage int) int {
	f, ok := r.report.Finding(k.number.metric, stage)
	switch {
	case !ok:
		return 0
	case f.Low > 0:
		return 1
	case f.High < 0:
		return -1
	}
	return 0
}

// trials returns the fewest and the most runs per column.
func (k *ranking) trials() (least, most int) {
	least = len(k.columns[0].Runs)
	for _, c := range k.columns {
		least, most = min(least, len(c.Runs)), max(most, len(c.Runs))
	}
	return least, most
}

// look reports whether there are too few runs to name a winner.
func (k *ranking) look() bool {
	least, most := k.trials()
	if most == 1 {
		return true
	}
	k.relate()
	f := k.family()
	return f.Columns > 1 && least < f.Least()
}
