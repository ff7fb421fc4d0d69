package analyze

import (
	"testing"

	"github.com/coreos/dbtester/analyze/runtest"
)

func TestSummary(t *testing.T) {
	golden(t, "two-summary.txt", tabulate(t, runtest.TwoDatabases(t)).Summary())
}
