package faults

import (
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/recovery"
	"github.com/coreos/dbtester/pkg/workload"
)

// drawn is a 40 s run with faults at 10 s and at 25 s, from which the load recovers after 4 s. Each
// tick has 10 requests, except that ticks in a fault have no rows.
func drawn(t *testing.T) *run.Run {
	t.Helper()
	begin, tick := time.Unix(1000, 0).UTC(), int64(results.ProgressTick)
	dir := t.TempDir()
	w, err := results.NewProgressWriter(filepath.Join(dir, results.FileProgress))
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(400) {
		if i >= 100 && i < 120 || i >= 250 && i < 270 {
			continue
		}
		if err := w.Write([]results.Progress{{FromNS: i * tick, ToNS: (i + 1) * tick, Operation: "write", Due: 10, OK: 10}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	end := begin.Add(40 * time.Second)
	record := &results.DatabaseRun{
		Load:  results.Load{Load: workload.Load{Pace: workload.Pace{Rate: 100}}},
		Steps: []results.Step{{Step: workload.Step{Rate: 100, Duration: end.Sub(begin)}, Start: begin, End: end, IssueEnd: end}},
	}
	var list []faults.Happened
	for i, at := range []time.Duration{10 * time.Second, 25 * time.Second} {
		from := begin.Add(at)
		list = append(list, faults.Happened{Asked: faults.Asked{Repeat: i, Kind: "kill", Target: "leader", For: 2 * time.Second}, From: from, To: from.Add(2 * time.Second),
			Recovery: &recovery.Recovery{Recovered: true, Until: from.Add(4 * time.Second)}})
	}
	if err := faults.Record().Set(&record.Records, list); err != nil {
		t.Fatal(err)
	}
	r := &run.Run{Dir: dir}
	r.Info.Record = record
	return r
}

// Every repeat is a line that begins before its fault, has zeros while nothing was answered, and
// ends after the recovery.
func TestFigures(t *testing.T) {
	list := (Half{}).Figures([]abilities.Column{{Name: "a", Key: 1, Runs: []*run.Run{drawn(t)}}})
	if len(list) != 1 || list[0].Name != "FAULT-1" || list[0].Short != "After kill of the leader for 2s" {
		t.Fatalf("figures %+v", list)
	}
	f := list[0]
	if want := []string{"a, ok requests per second", "a, p99 in ms"}; !slices.Equal(f.Panels, want) {
		t.Errorf("panels %q, want %q", f.Panels, want)
	}
	if want := []figure.Stretch{{From: 0, To: 2, Panel: 0, Tinted: true}, {From: 0, To: 2, Panel: 1, Tinted: true}}; !slices.Equal(f.Grey, want) {
		t.Errorf("bands %+v, want %+v", f.Grey, want)
	}
	if len(f.Series) != 4 {
		t.Fatalf("%d lines, want the rate and the p99 of two repeats", len(f.Series))
	}
	for _, s := range []figure.Series{f.Series[0], f.Series[2]} {
		first, last := s.X[0], s.X[len(s.X)-1]
		if first < -5 || first > -4.8 || last < 6.8 || last > 7 {
			t.Errorf("a line from %v to %v s, want from 5 s before the fault to 3 s after the recovery", first, last)
		}
		for i, x := range s.X {
			if x != math.Round(100*x)/100 {
				t.Errorf("a tick at %v s, want a tenth of its length as the step", x)
			}
			want := 100.0
			if x >= 0 && x <= 2 {
				want = 0
			}
			if s.Y[i] != want {
				t.Errorf("%v a second at %v s, want %v", s.Y[i], x, want)
			}
		}
	}
}

// Runs without faults, and faults without remaining ticks, have no picture.
func TestFiguresNone(t *testing.T) {
	calm := &run.Run{}
	calm.Info.Record = &results.DatabaseRun{}
	lost := drawn(t)
	lost.Dir = t.TempDir()
	if list := (Half{}).Figures([]abilities.Column{{Name: "a", Runs: []*run.Run{calm, lost}}}); len(list) != 0 {
		t.Errorf("figures %+v", list)
	}
}

// Two overlapping faults at one member disturb it from when the first starts until the last ends. A
// fault that an interrupted run did not end is left out.
func TestDisturbedOverlap(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(1000+seconds, 0) }
	r := &run.Run{}
	for _, e := range []struct {
		kind   string
		second int64
		member int
	}{{faults.EventFault, 1, 0}, {faults.EventFault, 3, 0}, {faults.EventFault, 4, 1}, {faults.EventOver, 5, 0}, {faults.EventOver, 8, 0}} {
		r.Machines.Events = append(r.Machines.Events, results.Event{Kind: e.kind, Time: at(e.second), Member: e.member})
	}
	times, _ := Half{}.Disturbed(r)
	if want := []abilities.Disturbance{{From: at(1), To: at(5)}, {From: at(3), To: at(8)}}; !slices.Equal(times, want) {
		t.Errorf("disturbed %v, want %v", times, want)
	}
}
