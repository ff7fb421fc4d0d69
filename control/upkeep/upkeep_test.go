package upkeep

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// kept is a cluster whose upkeep takes a while.
type kept struct {
	database.Driver
	fails bool
}

func (k kept) Compact(ctx context.Context, _ database.Target) error {
	if k.fails {
		return errors.New("no quorum")
	}
	return pause(ctx, 2*time.Second)
}

func (k kept) Defragment(ctx context.Context, _ database.Target, _ int) error {
	return pause(ctx, 3*time.Second)
}

func (k kept) Snapshot(ctx context.Context, _ database.Target, member int) (int64, error) {
	return int64(100 * (member + 1)), pause(ctx, time.Second)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run returns the events of a runner whose load takes some time.
func runFor(t *testing.T, d database.Driver, plan config.Maintain, length time.Duration) (events []string, failed error) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), length)
		defer cancel()
		r := New(d, database.Target{Endpoints: []string{"a", "b"}}, plan, func(e results.Event) {
			events = append(events, fmt.Sprintf("%v %s %d took %v %v%s %s", e.Time.Sub(began), e.Kind, e.Member, e.Took, e.Amount, e.Unit, e.Text))
		})
		if err := r.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
		failed = r.Failed()
	})
	return events, failed
}

func TestRunner(t *testing.T) {
	got, failed := runFor(t, kept{}, config.Maintain{Compact: 10 * time.Second, Defrag: 25 * time.Second, Snapshot: 12 * time.Second}, 41*time.Second)
	want := []string{
		"10s compact -1 took 2s 0 ",
		"12s take snapshot 0 took 1s 100bytes ",
		"20s compact -1 took 2s 0 ",
		"24s take snapshot 1 took 1s 200bytes ",
		"25s defragment 0 took 3s 0 ",
		"28s defragment 1 took 3s 0 ",
		"31s compact -1 took 2s 0 ",
		"36s take snapshot 0 took 1s 100bytes ",
		"40s compact -1 took 1s 0 the load ended meanwhile",
	}
	if diff := cmp.Diff(want, got); diff != "" || failed != nil {
		t.Errorf("upkeep (-want +got), %v:\n%s", failed, diff)
	}
	if got, failed := runFor(t, kept{fails: true}, config.Maintain{Compact: 10 * time.Second}, 15*time.Second); len(got) != 1 || failed == nil {
		t.Errorf("a failed compaction: %q, %v", got, failed)
	}
	// A driver that can do nothing, and a plan without upkeep.
	if got, failed := runFor(t, struct{ database.Driver }{}, config.Maintain{Compact: time.Second, Defrag: time.Second, Snapshot: time.Second}, time.Minute); got != nil || failed != nil {
		t.Errorf("upkeep of a driver without it: %q, %v", got, failed)
	}
	if got, _ := runFor(t, kept{}, config.Maintain{}, time.Minute); got != nil {
		t.Errorf("upkeep that nobody asked for: %q", got)
	}
}

// Ten seconds with a compaction in the third and fourth, and a snapshot in the fourth.
func TestEffects(t *testing.T) {
	dir := t.TempDir()
	start := time.Unix(1_700_000_000, 0).UTC()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	events, err := results.NewEventWriter(filepath.Join(dir, results.FileEvents))
	if err != nil {
		t.Fatalf("open events: %v", err)
	}
	for _, e := range []results.Event{
		{Time: at(0), Kind: "load start", Member: -1},
		{Time: at(2500), Kind: results.EventCompact, Member: -1, Took: time.Second},
		{Time: at(3100), Kind: results.EventSnapshot, Took: 200 * time.Millisecond, Text: "refused"},
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
			{Timing: results.TimingService, Operation: "update", Phase: results.PhaseMeasure, Outcome: results.Failed},
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
	got, err := Effects(dir, &results.DatabaseRun{})
	if err != nil {
		t.Fatalf("effects: %v", err)
	}
	for i := range got {
		got[i].P99, got[i].RestP99 = got[i].P99.Round(100*time.Microsecond), got[i].RestP99.Round(100*time.Microsecond)
	}
	want := []results.Upkeep{
		{Kind: results.EventCompact, Times: 1, Took: time.Second, Longest: time.Second, Seconds: 2, Requests: 200, P99: 4 * time.Millisecond, RestRequests: 800, RestP99: 10 * time.Millisecond},
		{Kind: results.EventSnapshot, Times: 1, Failed: 1, Took: 200 * time.Millisecond, Longest: 200 * time.Millisecond, Seconds: 1, Requests: 100, P99: 4 * time.Millisecond, RestRequests: 800, RestP99: 10 * time.Millisecond},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	if !slices.Contains(results.UpkeepEvents(), results.EventDefrag) {
		t.Error("a defragmentation is upkeep")
	}
}
