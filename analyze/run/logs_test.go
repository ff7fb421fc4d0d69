package run

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/declared"
)

// Events are counted with the durations in their lines; a broken rule and a cut log are
// gaps.
func TestReadLogs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := "fsync took 20ms\nfsync took a while\nfsync took 30ms\n[dbtester: 9 bytes of this log were cut here; it continues at byte 70 of the file on its machine]\n"
	if err := os.WriteFile(filepath.Join(dir, "1-db.log"), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	record := &results.DatabaseRun{
		Members: []results.Member{{Agent: "a"}, {Agent: "b"}},
		Logs: results.Logs{LogRules: []declared.LogRule{
			{Event: "slow fsync", Pattern: `fsync took`, Value: `took (\d+)ms`, Unit: "ms"}, {Event: "broken", Pattern: `(`}, {Event: "never", Pattern: `x`},
		}},
	}
	var gaps Gaps
	got := readLogs(dir, record, &gaps)
	want := Logs{Total: Measure{Value: 3}, Events: []LogEvent{
		{Event: "slow fsync", Count: 3, Timed: 2, Total: 50 * time.Millisecond, Longest: 30 * time.Millisecond}, {Event: "never"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
	wantGaps := []string{
		`log rule "broken" is not a regular expression`, "no log of member 2 was collected",
		"9 bytes of the log 1-db.log were cut: events in them are not counted",
	}
	if diff := cmp.Diff(wantGaps, gaps.List); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
}
