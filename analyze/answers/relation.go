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

// relation is what the runs of two columns in one set show about a number at a stage.
type relation struct {
	a, b int // column indexes
	// report is nil if the pair cannot be compared.
	report  *compare.Report
	finding abtest.Finding
	// p is the largest adjusted probability. told means that a winner may be named; ahead is its
	// index.
	p     float64
	told  bool
	ahead int
	// equal means that the difference lies within the margin.
	equal bool
}

// relate compares the columns within each set by the number at its stage. Probabilities are
// adjusted over all pairs in all sets.
func (s *screen) relate() {
	if s.related || s.number.metric == "" {
		return
	}
	s.related = true
	var ps []float64
	for _, one := range s.sets {
		for i, a := range one.columns {
			for _, b := range one.columns[i+1:] {
				r := s.relationOf(a, b)
				ps = append(ps, r.p)
				s.relations = append(s.relations, r)
			}
		}
	}
	for i, p := range abtest.Holm(ps) {
		s.relations[i].decide(p, s.number.less)
	}
}

// relationOf tests one pair.
func (s *screen) relationOf(a, b int) relation {
	r := relation{a: a, b: b, p: 1}
	report, err := compare.Columns(s.columns[a].Runs, s.columns[b].Runs)
	if err != nil || len(report.Invalid) > 0 {
		return r
	}
	stage := 0
	if s.number.metric != compare.Capacity {
		stage = s.stage(s.columns[a].Runs[0])
	}
	if f, ok := report.Finding(s.number.metric, stage); ok && f.Verdict != "" {
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

// between returns the relation of two columns; false if they are in different sets.
func (s *screen) between(a, b int) (relation, bool) {
	s.relate()
	at := slices.IndexFunc(s.relations, func(r relation) bool { return r.a == a && r.b == b || r.a == b && r.b == a })
	if at < 0 {
		return relation{}, false
	}
	return s.relations[at], true
}

// family is the family of tests, which determines what the runs can detect.
func (s *screen) family() abtest.Screen {
	columns := 0
	for _, one := range s.sets {
		columns = max(columns, len(one.columns))
	}
	f := abtest.Screen{Columns: columns, Pairs: len(s.relations), Metrics: 1, Alpha: compare.Alpha}
	for _, r := range s.relations {
		if r.report != nil {
			f.Metrics = max(f.Metrics, r.report.Deciding())
			f.Moved = (f.Metrics + 1) / 2
		}
	}
	return f
}

// planned is the difference, as a share, whose probability of being found is stated.
const planned = .2

// reach states the difference that a number of trials per column can detect, given their deviation.
func (s *screen) reach(trials int) string {
	var spreads []float64
	for _, r := range s.relations {
		if r.report != nil && r.report.Interleaved {
			spreads = append(spreads, r.finding.Sample.Spread()/math.Sqrt2)
		}
	}
	if len(spreads) == 0 {
		return "a winner is named only if the difference exceeds chance"
	}
	slices.Sort(spreads)
	spread := spreads[len(spreads)/2]
	f := s.family()
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
func (s *screen) stage(r *run.Run) int { return run.Largest(r.Stages) }

// told states the orders among columns that may be named; say words each one. It returns "" if
// there are none.
func (s *screen) told(columns []int, say func(Claim) string) string {
	s.relate()
	var parts []string
	for _, r := range s.relations {
		if r.told && slices.Contains(columns, r.a) {
			s.claim(r, "")
			parts = append(parts, say(s.answer.Claims[len(s.answer.Claims)-1]))
		}
	}
	return names(parts)
}

// claim records that the sentence states a pair's order.
func (s *screen) claim(r relation, point string) {
	ahead, behind := s.columns[r.a], s.columns[r.b]
	if r.ahead == r.b {
		ahead, behind = behind, ahead
	}
	gap := 0.0
	if low, high := r.finding.Low, r.finding.High; low > 0 || high < 0 {
		gap = math.Expm1(min(math.Abs(low), math.Abs(high)))
	}
	x, y := s.value(ahead), s.value(behind)
	s.answer.Claims = append(s.answer.Claims, Claim{
		Ahead: ahead.Name, Behind: behind.Name, Number: s.number.name, Point: point,
		Ratio: x / y, P: r.p, Trials: min(len(ahead.Runs), len(behind.Runs)), Gap: gap,
	})
}

// measureOf returns a run's number at the compared stage.
func (s *screen) measureOf(r *run.Run) run.Measure {
	at := s.stage(r)
	return s.number.of(r, r.Stages[at])
}

// value returns a column's median of the number; NaN if unknown.
func (s *screen) value(c Column) float64 {
	spread, first := c.Measure(s.measureOf)
	if !first.Known() {
		return math.NaN()
	}
	return spread.Median
}
