package table

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
)

// TestSummaryOfReads checks the bytes in a read load, and the additions for a rate.
func TestSummaryOfReads(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	f.Rate = 500
	record := f.Database("etcd", 2*time.Millisecond)
	r := &run.Run{Load: run.Load{Counts: run.Counts{Reads: run.Counted(record.Totals.OK), BytesRead: run.Counted(36 * record.Totals.OK)}}}
	if got := bytesPerResponse(r); got.Text != "36 B" || got.N != record.Totals.OK {
		t.Errorf("bytes per response are %+v", got)
	}
	runs, err := run.FromFolder(f.Write())
	f.Ok(err)
	got := Summaries(runs)
	for _, want := range []string{"ms from due to answered:", "[unsent]", "by class: throttled 59"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
