// Package answers states a report's result in a sentence, and claims no more than the runs support.
// Each experiment kind has its own sentence ([Kinds]). Columns are ranked only if they agree in the
// settings that decide a comparison (sets.go), and a winner is named only if package compare would
// name it from the same runs (relation.go). Otherwise the report is only a look: figures without a
// winner.
package answers

import (
	"slices"

	"github.com/coreos/dbtester/analyze/answers/compare"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
	"github.com/coreos/dbtester/analyze/setting"
	"github.com/coreos/dbtester/pkg/stats/abtest"
)

// Column is one database in a report, with all its trials.
type Column struct {
	// Name is the column name in sentences.
	Name string
	// Valid is false if a mark makes any number in the column invalid.
	Valid bool
	Runs  []*run.Run
}

// Answer is the conclusion drawn from the runs.
type Answer struct {
	// Kind is the experiment kind.
	Kind string `json:"kind"`
	// Sentence answers the question behind the experiment. It names winners only for the pairs in
	// Claims.
	Sentence string `json:"sentence"`
	// Basis states the number of runs, and which differences they can detect.
	Basis string `json:"basis"`
	// Look means that there are too few runs to name a winner.
	Look bool `json:"look,omitempty"`
	// Claims are the orders stated in the sentence.
	Claims []Claim `json:"claims"`
	// Varied names the settings that decide a comparison and differ among the columns.
	Varied []string `json:"varied,omitempty"`
}

// Claim orders two columns by one number.
type Claim struct {
	Ahead  string `json:"ahead"`
	Behind string `json:"behind"`
	// Number is the compared number, and Point the part of the load that it describes; "" means the
	// whole load.
	Number string `json:"number"`
	Point  string `json:"point,omitempty"`
	// Ratio is the median in the leading column divided by that in the other.
	Ratio float64 `json:"ratio"`
	// P is the probability that equal columns differ so much. It is the larger of two adjusted
	// probabilities: over all pairs of columns, and over all numbers for this pair.
	P      float64 `json:"p"`
	Trials int     `json:"trials"`
	// Gap is the smallest difference within its 95 % interval, as a share.
	Gap float64 `json:"gap"`
}

// screen makes the sentence for the valid columns.
type screen struct {
	ranking
	own bool // as in kind
}

// namesAndRuns returns the names and runs of columns.
func (s *screen) namesAndRuns() (names []string, runs [][]*run.Run) {
	for _, c := range s.columns {
		names, runs = append(names, c.Name), append(runs, c.Runs)
	}
	return names, runs
}

// every reports whether has holds for the first run in every column.
func (s *screen) every(has func(*run.Run) bool) bool {
	return !slices.ContainsFunc(s.columns, func(c Column) bool { return !has(c.Runs[0]) })
}

// any reports whether has holds for any run.
func (s *screen) any(has func(*run.Run) bool) bool {
	return slices.ContainsFunc(s.columns, func(c Column) bool { return slices.ContainsFunc(c.Runs, has) })
}

// Measure summarizes a number over the runs in a column: the median with its bounds, and the number
// from the first run with its marks.
func (c Column) Measure(of func(*run.Run) run.Measure) (trials.Spread, run.Measure) {
	return trials.Group{Name: c.Name, Runs: c.Runs}.Measure(of)
}

// median formats the median, or the reason why it is missing.
func (c Column) median(of func(*run.Run) run.Measure, text func(float64) string) string {
	spread, first := c.Measure(of)
	switch {
	case !first.Known() && first.Words != "":
		return first.Words
	case !first.Known():
		return "not measured"
	case first.AtLeast():
		return "over " + text(spread.Median)
	}
	return text(spread.Median)
}

// set holds columns that are equal in all settings that decide a comparison.
type set struct {
	columns  []int
	deciding []setting.Setting
}

// relation compares two columns in one set by a number at a stage.
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

// ranking compares columns by a number.
type ranking struct {
	columns []Column
	sets    []set
	number  number
	// relations compare the columns by number; nil until first needed.
	relations []relation
	related   bool
	// claims are the orders that the sentence states.
	claims []Claim
}
