package lognotes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/clocks"
	"github.com/coreos/dbtester/pkg/results/declared"
)

// notedIn writes logs for two members, the second with a clock an hour ahead, and returns the found
// events.
func notedIn(t *testing.T, logs map[string]string) ([]results.Event, *results.DatabaseRun) {
	t.Helper()
	dir := t.TempDir()
	record := &results.DatabaseRun{
		Moments: results.Moments{Started: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)},
		Members: []results.Member{{Index: 0}, {Index: 1}},
		Logs: results.Logs{LogRules: []declared.LogRule{
			{Event: "slow fsync", Pattern: `fsync took \d+ms`, Value: `took (\d+)ms`, Unit: "ms"},
			{Event: "entry", Pattern: `large entry`, Value: `(\d+) bytes`, Unit: "bytes"},
		},
			LogTimes: []declared.LogTime{{Pattern: `^(\S+)`, Layout: time.RFC3339}}},
	}
	w, err := clocks.NewWriter(filepath.Join(dir, results.FileClock))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(clocks.Exchange{UnixNano: record.Started.UnixNano(), Member: 1, OffsetNS: int64(time.Hour), ErrorNS: 1}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := os.Mkdir(filepath.Join(dir, results.DirLogs), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range record.Members {
		name := fmt.Sprintf("%s/%d-db.log", results.DirLogs, i+1)
		if text, ok := logs[name]; ok {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			record.Members[i].Files = []string{results.ServerFile(i + 1), name}
		}
	}
	file := filepath.Join(dir, results.FileEvents)
	to, err := results.NewEventWriter(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, record, []int{0, 1}, to); err != nil {
		t.Fatal(err)
	}
	to.Close()
	events, err := results.ReadEvents(file, 3)
	if err != nil {
		t.Fatal(err)
	}
	return events, record
}

// Events from all members are in order by the client clock, each with its place and the facts in
// its line.
func TestWrite(t *testing.T) {
	t.Parallel()
	events, record := notedIn(t, map[string]string{
		"logs/1-db.log": "large entry before any time of 7 bytes\n2026-11-22T10:00:05Z fsync took 1500ms\n\n" +
			"[dbtester: 900 bytes of this log were cut here; it continues at byte 950 of the file on its machine]\nlarge entry\n",
		"logs/2-db.log": "2026-11-22T11:00:04Z fsync took 1000ms\n2026-11-22T11:00:04Z nothing\n",
	})
	at := func(second int) time.Time { return record.Started.Add(time.Duration(second) * time.Second) }
	want := []results.Event{
		{Time: at(0), Kind: "entry", Amount: 7, Unit: "bytes", Log: "logs/1-db.log", Line: 1, Text: "large entry before any time of 7 bytes"},
		{Time: at(4), Kind: "slow fsync", Member: 1, Took: time.Second, Log: "logs/2-db.log", Line: 1, Text: "2026-11-22T11:00:04Z fsync took 1000ms"},
		{Time: at(5), Kind: "slow fsync", Took: 1500 * time.Millisecond, Log: "logs/1-db.log", Line: 2, Text: "2026-11-22T10:00:05Z fsync took 1500ms"},
		{Time: at(5), Kind: results.EventLogCut, Amount: 900, Unit: "bytes", Log: "logs/1-db.log", Line: 4, Text: "900 bytes of this log were cut on the member's machine"},
		{Time: at(5), Kind: "entry", Log: "logs/1-db.log", Line: 5, Text: "large entry"},
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]results.LogCut{{File: "logs/1-db.log", Bytes: 900}}, record.Members[0].LogCuts); diff != "" {
		t.Errorf("cuts (-want +got):\n%s", diff)
	}
}

// Logs that repeat themselves give a bounded number of events. The last one states that there are
// more.
func TestWriteBounded(t *testing.T) {
	t.Parallel()
	events, _ := notedIn(t, map[string]string{
		"logs/1-db.log": strings.Repeat("fsync took 1ms\n", 3*maxLogEvents) + "large entry\n",
		"logs/2-db.log": "fsync took 1ms\n",
	})
	if len(events) != maxLogEvents+2 {
		t.Fatalf("%d events, want %d of one kind and one more of either member", len(events), maxLogEvents)
	}
	more := 0
	for _, e := range events {
		if strings.HasPrefix(e.Text, "later events") {
			more++
		}
	}
	if more != 1 {
		t.Errorf("%d events state that there are more, want 1", more)
	}
}
