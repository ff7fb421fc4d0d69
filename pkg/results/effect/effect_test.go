package effect

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// Ten seconds with a compaction in the third and fourth, and a snapshot in the fourth.
func TestAround(t *testing.T) {
	dir := t.TempDir()
	start := time.Unix(1_700_000_000, 0).UTC()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	events, err := results.NewEventWriter(filepath.Join(dir, results.FileEvents))
	if err != nil {
		t.Fatalf("open events: %v", err)
	}
	for _, e := range []results.Event{
		{Time: at(0), Kind: "load start", Member: -1},
		{Time: at(2500), Kind: "compact", Member: -1, Took: time.Second},
		{Time: at(3100), Kind: "take snapshot", Took: 200 * time.Millisecond, Text: "refused"},
	} {
		if err := events.Write(e); err != nil {
			t.Fatalf("write an event: %v", err)
		}
	}
	log, err := histogram.NewLogWriter(filepath.Join(dir, results.FileLatency), start)
	if err != nil {
		t.Fatalf("open the log: %v", err)
	}
	for second := range 10 {
		for _, s := range []results.Series{
			{Timing: results.TimingService, Operation: "update", Phase: results.PhaseMeasure},
			{Timing: results.TimingService, Operation: "update", Phase: results.PhaseWarmUp},
			{Timing: results.TimingService, Operation: "update", Phase: results.PhaseMeasure, Outcome: workload.Failed},
		} {
			h := histogram.New()
			for range 100 {
				_ = h.RecordValue(int64((second + 1) * 1e6))
			}
			if err := log.Write(at(1000*second), time.Second, s.Tag(), h); err != nil {
				t.Fatalf("write the log: %v", err)
			}
		}
	}
	if err := errors.Join(events.Close(), log.Close()); err != nil {
		t.Fatalf("close: %v", err)
	}
	got, err := Around(dir, &results.DatabaseRun{Members: make([]results.Member, 1)}, "compact", "take snapshot")
	if err != nil {
		t.Fatalf("effects: %v", err)
	}
	for i := range got {
		got[i].P99, got[i].RestP99 = got[i].P99.Round(100*time.Microsecond), got[i].RestP99.Round(100*time.Microsecond)
	}
	want := []Effect{
		{Kind: "compact", Times: 1, Took: time.Second, Longest: time.Second, Seconds: 2, Requests: 200, P99: 4 * time.Millisecond, RestRequests: 800, RestP99: 10 * time.Millisecond},
		{Kind: "take snapshot", Times: 1, Failed: 1, Took: 200 * time.Millisecond, Longest: 200 * time.Millisecond, Seconds: 1, Requests: 100, P99: 4 * time.Millisecond, RestRequests: 800, RestP99: 10 * time.Millisecond},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	// The seconds that a time touches have their own percentiles, of the measured phase alone.
	seconds, err := Seconds(dir, &results.DatabaseRun{Members: make([]results.Member, 1)}, []results.Stretch{{From: at(3500), Length: time.Second}, {From: at(60_000)}})
	if err != nil || len(seconds) != 2 {
		t.Fatalf("seconds %v, %v; want two", seconds, err)
	}
	for i, want := range []time.Duration{4 * time.Millisecond, 5 * time.Millisecond} {
		if is := seconds[at(3000+1000*i).Unix()].Round(100 * time.Microsecond); is != want {
			t.Errorf("second %d has p99 %v, want %v", 3+i, is, want)
		}
	}
}
