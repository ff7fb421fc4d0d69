package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep"
	"github.com/coreos/dbtester/pkg/workload"
)

// asked are agents that record their requests.
type asked struct {
	began time.Time
	mu    sync.Mutex
	list  []string
}

func (a *asked) note(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, fmt.Sprintf("%v ", time.Since(a.began))+fmt.Sprintf(format, args...))
}

func (a *asked) Fault(_ context.Context, member int, req *dbtesterpb.FaultRequest) (*dbtesterpb.FaultResponse, error) {
	a.note("%s of %d as %s for %v", req.GetFault().GetKind(), member, req.GetId(), time.Duration(req.GetForNs()))
	switch {
	case member == 2:
		return nil, errors.New("no answer")
	case req.GetFault().GetKind() == "pause":
		return &dbtesterpb.FaultResponse{Failed: "not stopped"}, nil
	}
	return &dbtesterpb.FaultResponse{Saw: "ended"}, nil
}

func (a *asked) Heal(_ context.Context, member int, id string) (*dbtesterpb.FaultResponse, error) {
	a.note("heal %s of %d", id, member)
	switch {
	case member == 2 && id == "1-1-1":
		return nil, errors.New("no answer again")
	case member == 2 && id == "2-1-1":
		return &dbtesterpb.FaultResponse{}, nil // it never began
	}
	return &dbtesterpb.FaultResponse{Saw: "ended", SawOver: "runs"}, nil
}

// runFor runs faults on three members for some time and returns the requests to agents and the run.
func runFor(t *testing.T, list []faults.Fault, leader func() (int, error), length time.Duration) (agents *asked, r *Runner) {
	t.Helper()
	return runRepeats(t, list, faults.Repeat{}, nil, leader, length)
}

// runRepeats runs faults and their repeats. ok returns the number of load requests that end ok in a
// second.
func runRepeats(t *testing.T, list []faults.Fault, repeat faults.Repeat, ok func(second int) int64, leader func() (int, error), length time.Duration) (agents *asked, r *Runner) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), length, abilities.ErrOver)
		defer cancel()
		agents = &asked{began: time.Now()}
		record := &results.DatabaseRun{Members: make([]results.Member, 3)}
		db := &config.Database{Abilities: faults.Repeated().With(faults.Keys().With(nil, list), repeat)}
		db.Load.Duration, db.Load.Rate = length, 1000
		r = New(&abilities.Run{
			Experiment: &config.Experiment{Seed: 1}, DB: db,
			Agents: agents, Leader: func(context.Context) (int, error) { return leader() },
			Record: record, Mark: record.Mark, Event: func(results.Event) {}, Step: func(string, ...any) {},
		})
		var load sync.WaitGroup
		if ok != nil {
			load.Go(func() { r.play(ctx, ok) })
		}
		if err := r.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
		cancel()
		load.Wait()
		r.Record()
	})
	return agents, r
}

// A load whose connections fail over fails back after each fault that it has recovered from, before
// the next one.
func TestFailBack(t *testing.T) {
	list := []faults.Fault{{Kind: "kill", Member: "1", At: 10 * time.Second, For: 2 * time.Second}, {Kind: "kill", Member: "2", At: 20 * time.Second, For: 2 * time.Second}}
	for _, tc := range []struct {
		name   string
		repeat faults.Repeat
		slow   int // the last second in which the load has not recovered from the first fault
		faults []string
		back   []string
	}{
		{"planned", faults.Repeat{}, 0, []string{"10s", "20s"}, []string{"14s"}},
		{"planned before the load has recovered", faults.Repeat{}, 18, []string{"10s", "20s"}, nil},
		{"once the load has recovered", faults.Repeat{Times: 2, Until: faults.Recovered}, 0, []string{"10s", "20s", "35s", "45s"}, []string{"14s", "24s", "39s"}},
		{"late", faults.Repeat{Times: 1, Until: faults.Recovered}, 30, []string{"10s", "34s"}, []string{"33s"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, abilities.ErrOver)
			defer cancel()
			agents := &asked{began: time.Now()}
			record := &results.DatabaseRun{Members: make([]results.Member, 3)}
			db := &config.Database{Abilities: faults.Repeated().With(faults.Keys().With(nil, list), tc.repeat)}
			db.Load.Duration, db.Load.Rate, db.Load.Failover = time.Minute, 1000, workload.FailoverNext
			var back, events []string
			r := New(&abilities.Run{
				Experiment: &config.Experiment{Seed: 1}, DB: db, Agents: agents, Record: record, Mark: record.Mark, Step: func(string, ...any) {},
				Event: func(e results.Event) {
					if e.Kind == faults.EventFailBack {
						events = append(events, e.Text)
					}
				},
				FailBack: func(context.Context) (load.FailedBack, error) {
					back = append(back, time.Since(agents.began).String())
					return load.FailedBack{Returned: 4, Away: 1}, nil
				},
			})
			var others sync.WaitGroup
			others.Go(func() {
				r.play(ctx, func(second int) int64 {
					if second >= 10 && second <= tc.slow {
						return 90
					}
					return 100
				})
			})
			if err := r.Run(ctx); err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
			cancel()
			others.Wait()
			var began []string
			for _, line := range agents.list {
				if at, what, _ := strings.Cut(line, " "); strings.HasPrefix(what, "kill") {
					began = append(began, at)
				}
			}
			if diff := cmp.Diff(tc.faults, began); diff != "" {
				t.Errorf("%s: faults (-want +got):\n%s", tc.name, diff)
			}
			if diff := cmp.Diff(tc.back, back); diff != "" {
				t.Errorf("%s: connections failed back (-want +got):\n%s", tc.name, diff)
			}
			for i, h := range r.happened {
				if returned := i < len(tc.back); returned != (h.Returned != nil) || returned && (*h.Returned != 4 || h.Away != 1) {
					t.Errorf("%s: fault %d is recorded with %v connections that failed back and %d that did not", tc.name, i+1, h.Returned, h.Away)
				}
			}
			for _, text := range events {
				if text != "4 connections went back to their first members, 1 could not" {
					t.Errorf("%s: event %q", tc.name, text)
				}
			}
			if len(events) != len(tc.back) {
				t.Errorf("%s: %d events, want %d", tc.name, len(events), len(tc.back))
			}
		})
	}
}

// play shows the seconds of a load, a tenth of a second in each tick. Of its requests, ok end ok.
func (r *Runner) play(ctx context.Context, ok func(second int) int64) {
	start, tick := time.Now(), int64(results.ProgressTick)
	for second := 0; ; second++ {
		var rows []results.Progress
		for n := range int64(10) {
			from := (int64(second)*10 + n) * tick
			row := results.Progress{FromNS: from, ToNS: from + tick, Operation: "write", Due: 100, OK: ok(second)}
			row.Shed = row.Due - row.OK
			row.Answered(row.FromNS+1, row.ToNS-1)
			rows = append(rows, row)
		}
		if !sleep.For(ctx, time.Second) {
			return
		}
		r.See(load.Progress{Step: load.Step{Start: start}, Ticks: rows})
	}
}

// A repeat begins when it is planned, but no sooner than the load has recovered from the one
// before. Repeats that would outlast the load are skipped.
func TestUntilRecovered(t *testing.T) {
	leads := func() (int, error) { return 1, nil }
	list := []faults.Fault{{Kind: "kill", Member: "1", At: 10 * time.Second, For: 2 * time.Second}, {Kind: "restart", Member: "2", At: 13 * time.Second, Overlap: true}}
	slow := func(second int) int64 {
		if second >= 10 && second < 40 {
			return 90
		}
		return 100
	}
	apart := slices.Clone(list) // the second one waits too
	apart[1].Overlap = false
	for _, tc := range []struct {
		list   []faults.Fault
		every  time.Duration
		length time.Duration
		want   []string
		began  float64
	}{
		{list, 30 * time.Second, 100 * time.Second, []string{"10s", "13s", "52s", "55s", "1m22s", "1m25s"}, 3},
		{list, 0, 100 * time.Second, []string{"10s", "13s", "52s", "55s", "1m7s", "1m10s"}, 3},
		{list, 30 * time.Second, 80 * time.Second, []string{"10s", "13s", "52s", "55s"}, 2},
		{list, 0, 41 * time.Second, []string{"10s", "13s"}, 1},
		{apart, 0, 100 * time.Second, []string{"10s", "42s", "54s", "58s", "1m10s", "1m14s"}, 3},
		{apart, 30 * time.Second, 100 * time.Second, []string{"10s", "42s", "54s", "58s", "1m24s", "1m28s"}, 3},
		{apart, 0, 41 * time.Second, []string{"10s"}, 0},
	} {
		agents, r := runRepeats(t, tc.list, faults.Repeat{Times: 3, Every: tc.every, Until: faults.Recovered}, slow, leads, tc.length)
		var got []string
		for _, line := range agents.list {
			if at, what, _ := strings.Cut(line, " "); !strings.HasPrefix(what, "heal") {
				got = append(got, at)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("every %v in %v: faults at (-want +got):\n%s", tc.every, tc.length, diff)
		}
		switch marks := r.run.Record.Validity; {
		case tc.began == 3 && len(marks) > 0:
			t.Errorf("marks %+v", marks)
		case tc.began < 3 && (len(marks) != 1 || marks[0].Code != mark.RepeatsMissing || marks[0].Invalid || marks[0].Values["began"] != tc.began):
			t.Errorf("marks %+v, want one of %v repeats", marks, tc.began)
		}
	}
}

// If members have a fault one after the other, the last one ends it.
func TestGoesOn(t *testing.T) {
	turn := func(number, repeat, turn int) faults.Happened {
		return faults.Happened{Asked: faults.Asked{Number: number, Repeat: repeat, Turn: turn}}
	}
	r := &Runner{happened: []faults.Happened{turn(0, 0, 0), turn(1, 0, 0), turn(1, 0, 1), turn(1, 1, 0), turn(0, 1, 2)}}
	for i, want := range []bool{false, true, false, false, false} {
		if got := r.goesOn(&r.happened[i]); got != want {
			t.Errorf("fault %d goes on: %v, want %v", i, got, want)
		}
	}
}

func TestRunner(t *testing.T) {
	leads := func() (int, error) { return 1, nil }
	agents, r := runFor(t, []faults.Fault{
		{Kind: "kill", Member: "leader", At: 10 * time.Second, For: 4 * time.Second},
		{Kind: "restart", Member: "follower", At: 20 * time.Second},
		{Kind: "kill", Member: "1", At: 30 * time.Second, For: time.Minute},
	}, leads, 40*time.Second)
	want := []string{
		"10s kill of 1 as 1-1-1 for 4s", "14s heal 1-1-1 of 1",
		"20s restart of 0 as 2-1-1 for 0s", "20s heal 2-1-1 of 0",
		"30s kill of 0 as 3-1-1 for 1m0s", "40s heal 3-1-1 of 0", // the load is over
	}
	if diff := cmp.Diff(want, agents.list); diff != "" {
		t.Errorf("agents were asked for (-want +got):\n%s", diff)
	}
	for _, h := range r.happened {
		if h.Failed != "" || h.Saw != "ended" || h.SawOver != "runs" {
			t.Errorf("fault %+v", h)
		}
	}
	if len(r.run.Record.Validity) > 0 {
		t.Errorf("marks %+v", r.run.Record.Validity)
	}
}

// Each member has the fault after the one before, and one that fails makes the run invalid.
func TestEachAndFailures(t *testing.T) {
	agents, r := runFor(t, []faults.Fault{
		{Kind: "restart", Member: "each", At: 10 * time.Second, Gap: 5 * time.Second},
		{Kind: "pause", Member: "2", At: 30 * time.Second, For: time.Second},
		{Kind: "kill", Member: "leader", At: 35 * time.Second, For: time.Second},
	}, func() (int, error) { return 0, errors.New("no quorum") }, time.Minute)
	want := []string{
		"10s restart of 0 as 1-1-1 for 0s", "10s heal 1-1-1 of 0",
		"15s restart of 1 as 1-1-2 for 0s", "15s heal 1-1-2 of 1",
		"20s restart of 2 as 1-1-3 for 0s", "20s heal 1-1-3 of 2",
		"30s pause of 1 as 2-1-1 for 1s",
	}
	if diff := cmp.Diff(want, agents.list); diff != "" {
		t.Errorf("agents were asked for (-want +got):\n%s", diff)
	}
	var failed []string
	for _, h := range r.happened {
		failed = append(failed, h.Failed)
	}
	slices.Sort(failed)
	if diff := cmp.Diff([]string{"", "", "find the leader: no quorum", "no answer; it began all the same and was undone", "not stopped"}, failed); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	if n := len(r.run.Record.Validity); n != 3 || r.run.Record.Validity[0].Code != mark.FaultFailed || !r.run.Record.Validity[0].Invalid {
		t.Errorf("marks %+v, want three invalid ones", r.run.Record.Validity)
	}
}

// A fault is undone at once, whatever its duration, if no answer shows whether it began.
func TestUnsure(t *testing.T) {
	agents, r := runFor(t, []faults.Fault{
		{Kind: "kill", Member: "3", At: 10 * time.Second, For: 20 * time.Second},
		{Kind: "kill", Member: "3", At: 40 * time.Second, For: time.Second},
	}, func() (int, error) { return 0, nil }, time.Minute)
	want := []string{
		"10s kill of 2 as 1-1-1 for 20s", "10s heal 1-1-1 of 2",
		"40s kill of 2 as 2-1-1 for 1s", "40s heal 2-1-1 of 2",
	}
	if diff := cmp.Diff(want, agents.list); diff != "" {
		t.Errorf("agents were asked for (-want +got):\n%s", diff)
	}
	wantFailed := []string{"no answer; whether it began is not known, and it could not be undone: no answer again", "no answer"}
	for i, h := range r.happened {
		if h.Failed != wantFailed[i] {
			t.Errorf("fault %d failed by %q, want %q", i+1, h.Failed, wantFailed[i])
		}
	}
}

// A load without faults is left alone.
func TestNone(t *testing.T) {
	agents, r := runFor(t, nil, func() (int, error) { return 0, nil }, time.Minute)
	if len(agents.list) > 0 || r.Describe() != nil || r.Cut() != nil || r.Finish() != nil {
		t.Errorf("agents were asked for %q", agents.list)
	}
}

// unreachable is a database without an address.
type unreachable struct{ database.Driver }

func (unreachable) Dial(context.Context, database.Target) (database.Client, error) {
	return nil, errors.New("no address")
}

// Keys of probes that cannot be removed may be left.
func TestProbeKeysLeft(t *testing.T) {
	p := &prober{run: &abilities.Run{Driver: unreachable{}, Target: &database.Target{}}}
	for i := range 2 {
		p.members = append(p.members, &memberProber{prober: p, member: i})
	}
	p.end(t.Context())
	if r := (&Runner{prober: p}); r.Left() != 2 || (&Runner{}).Left() != 0 || len(p.errs) == 0 {
		t.Errorf("%d keys may be left, %v, want 2 and errors", r.Left(), p.errs)
	}
}
