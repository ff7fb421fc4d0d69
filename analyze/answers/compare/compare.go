// Package compare decides from recorded runs whether B is better than A, worse or equivalent, or
// whether there are too few runs to decide. The unit is the run: each run contributes one value per
// metric, and pkg/stats/abtest compares the values.
package compare

import (
	"fmt"
	"strings"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/stats/abtest"
)

// Options must be fixed before anyone looks at the numbers.
type Options struct {
	// A and B are the result folders of the two sides.
	A, B []string
	// TagA and TagB select a database in each folder; "" selects the only one.
	TagA, TagB string
	// Change describes a difference between the sides that the records do not show, such as the
	// executables used, or "".
	Change string
	// Metrics names the deciding metrics, from [Names]. The other metrics are only shown.
	Metrics []string
	// Margin is the largest difference that does not matter, as a share.
	Margin float64
	// Looks are the pair counts after which a session may stop; empty means a single look at all
	// pairs. Block is the number of pairs at the end that confirm the verdict worse.
	Looks []int
	Block int

	open  func(folder string) ([]*run.Run, error) // nil: run.FromFolder
	turns bool                                    // a session interleaves the runs
	brief bool                                    // judge only the deciding metrics
}

// Alpha is the probability that equal sides are found to differ.
const Alpha = .05

// Refusal is the error for a comparison that makes no sense.
type Refusal struct{ Reasons []string }

func (r *Refusal) Error() string {
	return "these runs cannot be compared:\n  " + strings.Join(r.Reasons, "\n  ")
}

// Recorded is one run on one side.
type Recorded = abilities.Recorded

// Report is a comparison with everything that qualifies it.
type Report struct {
	abtest.Result
	Margin float64
	A, B   Side
	// Interleaved means that the runs alternated between the sides, so they form pairs.
	Interleaved bool
	// Differences are the settings that differ between the sides.
	Differences []string
	// Invalid are the marks that make numbers invalid. If there are any, there is no verdict.
	Invalid []string
	// Marks are the other marks.
	Marks []Marked
	// Notes qualify the numbers.
	Notes []string
	rows  []row
	// others are the comparisons by abilities, which do not affect the verdict.
	others []*abilities.Comparison
}

// Side is A or B.
type Side struct {
	Name string
	Runs []Recorded
}

// pair holds two consecutive runs.
type pair struct{ a, b *run.Run }

// Marked is a mark that weakens the numbers of some runs, merged over these runs.
type Marked struct {
	Code string `json:"code"`
	// Runs are the runs with the mark, such as "A1", out of All.
	Runs []string `json:"runs"`
	All  int      `json:"all"`
	// Worst is the run with the worst such mark. Text is the text of that mark.
	Worst string `json:"worst"`
	Text  string `json:"text"`
}

// String formats the mark as one line.
func (m Marked) String() string {
	return fmt.Sprintf("%s: %d of %d runs (%s), the worst %s: %s", m.Code, len(m.Runs), m.All, strings.Join(m.Runs, ", "), m.Worst, m.Text)
}

// definition is one metric for a stage or for a whole run.
type definition struct {
	name, unit string
	higher     bool // higher is better
	of         func(*run.Stage) run.Measure
	whole      func(*run.Run) run.Measure // set for whole-run metrics, instead of the function for a stage
}

// row is one metric at one stage, in all runs.
type row struct {
	definition
	stage int
	label string // stage label
	a, b  column
}

// column holds the values on one side.
type column struct {
	values  map[*run.Run]float64
	order   []*run.Run
	missing []string // runs with the reason
}
