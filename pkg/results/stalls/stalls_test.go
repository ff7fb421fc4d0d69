package stalls

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// read judges a 6 s step with a 1 s warm-up: due and ok are the requests that were due and that
// ended ok in each tick of the measured 5 s.
func read(t *testing.T, rate float64, stopped []results.Stretch, due, ok func(tick int) int64) Step {
	t.Helper()
	dir := t.TempDir()
	w, err := results.NewProgressWriter(filepath.Join(dir, results.FileProgress))
	if err != nil {
		t.Fatal(err)
	}
	for i := -10; i < 50; i++ {
		from := int64(i+10) * int64(results.ProgressTick)
		row := results.Progress{FromNS: from, ToNS: from + int64(results.ProgressTick), Operation: "put", Due: due(max(i, 0)), OK: ok(max(i, 0))}
		if i < 0 {
			row.OK = 0 // the warm-up is not a stall
		}
		late := row
		late.Due, late.OK = 0, row.OK/2 // a row whose record came late adds to its tick
		row.OK -= late.OK
		if err := w.Write([]results.Progress{row, late}); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	var load workload.Load
	load.Rate, load.WarmUp, load.Duration = rate, time.Second, 6*time.Second
	run := &results.DatabaseRun{}
	run.Load = results.Load{Load: load}
	run.Steps = []results.Step{{Start: begin, End: begin.Add(6 * time.Second), Step: workload.Step{Rate: rate}}}
	run.Stops = &results.Stops{Stretches: stopped}
	steps, err := Read(dir, run)
	if err != nil || len(steps) != 1 {
		t.Fatalf("read %+v: %v", steps, err)
	}
	return steps[0]
}

func always(n int64) func(int) int64 { return func(int) int64 { return n } }

// except is one number in all ticks except some, which have another.
func except(n, other int64, ticks ...int) func(int) int64 {
	return func(i int) int64 {
		if slices.Contains(ticks, i) {
			return other
		}
		return n
	}
}

func TestRead(t *testing.T) {
	second := func(tick int, length time.Duration) results.Stretch {
		return results.Stretch{From: begin.Add(time.Second + time.Duration(tick)*results.ProgressTick), Length: length}
	}
	for _, c := range []struct {
		name    string
		rate    float64
		stopped []results.Stretch
		due, ok func(int) int64
		want    []Stretch
		slot    time.Duration
		median  bool
		without int
		why     string
	}{
		{name: "no stall", rate: 1000, due: always(100), ok: except(100, 50, 3, 4), slot: results.ProgressTick},
		{name: "rate", rate: 1000, due: always(100), ok: except(100, 49, 3, 4, 9), slot: results.ProgressTick,
			want: []Stretch{{3, 5, 98, 200}, {9, 10, 49, 100}}},
		{name: "closed loop", due: always(0), ok: except(100, 0, 20, 21, 22), slot: results.ProgressTick, median: true, want: []Stretch{{20, 23, 0, 300}}},
		{name: "the end", rate: 1000, due: always(100), ok: except(100, 0, 49), slot: results.ProgressTick},
		{name: "the client did not run", rate: 1000, stopped: []results.Stretch{second(10, 250*time.Millisecond), second(-40, time.Second), second(400, time.Second)},
			due: always(100), ok: except(100, 0, 9, 10, 11, 12, 13), slot: results.ProgressTick, without: 3, want: []Stretch{{9, 10, 0, 100}, {13, 14, 0, 100}}},
		{name: "rate not sustained", rate: 5000, due: always(500), ok: except(200, 90, 7), slot: results.ProgressTick, median: true, want: []Stretch{{7, 8, 90, 200}}},
		{name: "few requests", rate: 200, due: always(20), ok: except(20, 0, 3, 4, 5), slot: 3 * results.ProgressTick, want: []Stretch{{1, 2, 0, 60}}},
		{name: "too few requests", rate: 10, due: always(1), ok: always(1), why: "fewer than 50 requests a second"},
		{name: "no answers", rate: 1000, due: always(100), ok: always(0), why: "next to nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := read(t, c.rate, c.stopped, c.due, c.ok)
			if c.why != "" {
				if s.Slot != 0 || !strings.Contains(s.Why, c.why) {
					t.Errorf("judged in slots of %v (%q), want %q", s.Slot, s.Why, c.why)
				}
				return
			}
			if !slices.Equal(s.Stalls, c.want) || s.Slot != c.slot || s.Median != c.median || s.Stopped != c.without || s.Why != "" {
				t.Errorf("%+v, want stalls %+v, slots of %v, median %v, %d slots without a client", s, c.want, c.slot, c.median, c.without)
			}
			if n := s.Judged(0, s.Slots); n != s.Slots-c.without {
				t.Errorf("%d of %d slots are judged, want all but %d", n, s.Slots, c.without)
			}
			if len(c.want) > 0 && !s.At(c.want[0].From).Equal(begin.Add(time.Second+time.Duration(c.want[0].From)*c.slot)) {
				t.Errorf("the first stall begins at %v", s.At(c.want[0].From))
			}
		})
	}
}

// Records without ticks show no stalls, and steps without an end, or years long, cost no memory.
func TestReadNothing(t *testing.T) {
	dir := t.TempDir()
	run := &results.DatabaseRun{}
	run.Steps = []results.Step{{Start: begin}, {Index: 1, Start: begin, End: begin.AddDate(90, 0, 0)}, {Index: 2, Start: begin, End: begin.Add(time.Minute)}}
	if _, err := Read(dir, run); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read a run without ticks: %v", err)
	}
	w, err := results.NewProgressWriter(filepath.Join(dir, results.FileProgress))
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []int64{-1 << 62, 1 << 62} {
		if err := w.Write([]results.Progress{{Step: 2, FromNS: from, ToNS: from + 1, OK: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	steps, err := Read(dir, run)
	if err != nil || steps[0].Why != "its end was not recorded" || steps[1].Why != "the run is too long" || !strings.Contains(steps[2].Why, "fewer than") {
		t.Errorf("%+v: %v", steps, err)
	}
}
