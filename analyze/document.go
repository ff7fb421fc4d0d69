package analyze

import (
	"github.com/coreos/dbtester/analyze/chart"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
)

// document is a report being written.
type document struct {
	*Report
	charts  *chart.Data
	runs    []*run.Run
	folders int // result folders that were read
	out     *output
	// classicFile is the path to the analyzed classic file, or "".
	classicFile string
	// classic requests the classic README; nil writes ours.
	classic *ClassicReport
	drawn   []figure.Figure
}
