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

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/ability/upkeep"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
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

// CompactEvery returns 0: never.
func (kept) CompactEvery() time.Duration { return 0 }

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runFor returns the events from a runner whose load takes some time.
func runFor(t *testing.T, d database.Driver, plan upkeep.Plan, length time.Duration, load ...workload.Load) (events []string, failed error) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), length)
		defer cancel()
		r := New(&abilities.Run{
			Experiment: &config.Experiment{},
			DB:         &config.Database{Abilities: upkeep.Keys().With(nil, plan), Load: slices.Concat(load, []workload.Load{{}})[0]},
			Driver:     d, Target: &database.Target{Endpoints: []string{"a", "b"}}, Step: func(string, ...any) {},
			Mark: func(code string, values mark.Values, words mark.Words) {
				failed = errors.New(mark.Text(code, values, words))
			},
			Event: func(e results.Event) {
				events = append(events, fmt.Sprintf("%v %s %d took %v %v%s %s", e.Time.Sub(began), e.Kind, e.Member, e.Took, e.Amount, e.Unit, e.Text))
			},
		})
		if err := r.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
		r.Record()
	})
	return events, failed
}

func TestRunner(t *testing.T) {
	got, failed := runFor(t, kept{}, upkeep.Plan{Compact: 10 * time.Second, Defrag: 25 * time.Second, Snapshot: 12 * time.Second}, 41*time.Second)
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
	// Nothing begins when a load ends.
	planned := workload.Load{Extent: workload.Extent{Duration: 40 * time.Second}}
	if got, _ := runFor(t, kept{}, upkeep.Plan{Compact: 20 * time.Second}, 41*time.Second, planned); len(got) != 1 {
		t.Errorf("upkeep that is due at the middle and at the end of a load: %q, want one piece", got)
	}
	got, failed = runFor(t, kept{fails: true}, upkeep.Plan{Compact: 10 * time.Second, Snapshot: 12 * time.Second}, 25*time.Second)
	if text := "compact: no quorum; 2 of 4 operations failed"; len(got) != 4 || failed == nil || failed.Error() != text {
		t.Errorf("the mark of compactions that failed is %v, want %q; events %q", failed, text, got)
	}
	// A driver that can do nothing, and a plan without upkeep.
	if got, failed := runFor(t, struct{ database.Driver }{}, upkeep.Plan{Compact: time.Second, Defrag: time.Second, Snapshot: time.Second}, time.Minute); got != nil || failed != nil {
		t.Errorf("upkeep of a driver without it: %q, %v", got, failed)
	}
	if got, _ := runFor(t, kept{}, upkeep.Plan{}, time.Minute); got != nil {
		t.Errorf("upkeep that nobody asked for: %q", got)
	}
}

// Upkeep during the load is in a file by second and in the record. Pieces that failed or came
// before the load are left out.
func TestObserved(t *testing.T) {
	t.Parallel()
	dir, start := t.TempDir(), time.Unix(1000, 0).UTC()
	events, err := results.NewEventWriter(filepath.Join(dir, results.FileEvents))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []results.Event{
		{Time: start.Add(-time.Second), Kind: upkeep.EventCompact, Took: time.Minute},
		{Time: start.Add(time.Second), Kind: upkeep.EventCompact, Took: 3 * time.Millisecond},
		{Time: start.Add(time.Second), Kind: upkeep.EventCompact, Took: time.Hour, Text: "no quorum"},
		{Time: start.Add(12 * time.Second), Kind: upkeep.EventSnapshot, Took: 8 * time.Millisecond, Amount: 4096, Unit: "bytes"},
		{Time: start.Add(12 * time.Second), Kind: results.EventLeader},
	} {
		if err := events.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := events.Close(); err != nil {
		t.Fatal(err)
	}
	record := &results.DatabaseRun{Moments: results.Moments{LoadStart: start}, Members: make([]results.Member, 1), Steps: []results.Step{{Start: start}, {Index: 1, Start: start.Add(10 * time.Second)}}}
	r := New(&abilities.Run{DB: &config.Database{}, Record: record, Dir: dir})
	if err := r.observe(); err != nil {
		t.Fatal(err)
	}
	got, err := ability.Observed().Of(record.Records)
	want := observation.Totals{"upkeep": {
		"compact":            {N: 1, Value: 3e6, Longest: 3 * time.Millisecond},
		"snapshot":           {N: 1, Value: 8e6, Longest: 8 * time.Millisecond},
		upkeep.SnapshotBytes: {N: 1, Value: 4096},
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("the record (-want +got), %v:\n%s", err, diff)
	}
	seconds, err := observation.Read(upkeep.Observed(), dir)
	if err != nil || len(seconds) != 2 || seconds[0].Second != 1001 || seconds[0].Step != 0 || seconds[1].Second != 1012 || seconds[1].Step != 1 {
		t.Errorf("the file has %+v, %v, want a second of each step", seconds, err)
	}
}
