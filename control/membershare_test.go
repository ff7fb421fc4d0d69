package control

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/coreos/dbtester/control/judge"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestMemberAnswers counts the measured requests, and leaves out steps in which the member of a
// request is not known.
func TestMemberAnswers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := results.NewMemberWriter(filepath.Join(dir, results.FileMembers))
	if err != nil {
		t.Fatalf("make the file of members: %v", err)
	}
	row := func(step int, phase results.Phase, member int, ok int64) results.MemberSecond {
		return results.MemberSecond{Step: step, Phase: phase, Member: member, OK: ok, Failed: 1, Unknown: 1}
	}
	if err := w.Write([]results.MemberSecond{
		row(0, results.PhaseWarmUp, 0, 100), row(0, results.PhaseMeasure, 0, 10), row(0, results.PhaseMeasure, 2, 20), row(0, results.PhaseMeasure, 0, 30),
		row(1, results.PhaseMeasure, 0, 10), row(1, results.PhaseMeasure, -1, 20), row(1, results.PhaseMeasure, 0, 30),
	}); err != nil {
		t.Fatalf("write the rows: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatalf("close the writer: %v", err)
	}
	got, err := memberAnswers(dir, 3)
	if diff := cmp.Diff(map[int][]int64{0: {42, 0, 21}}, got); diff != "" || err != nil {
		t.Errorf("answers by step and member (-want +got), error %v:\n%s", err, diff)
	}
	if got, err := memberAnswers(t.TempDir(), 3); len(got) > 0 || err != nil {
		t.Errorf("without a file of members: want no answers, got %v, %v", got, err)
	}
}

// TestMemberShares deals clients to connections, and connections to the members that the load
// targets.
func TestMemberShares(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		clients, connections, generators int
		target                           string
		operation                        workload.Op
		want                             []float64
	}{
		"evenly":                  {clients: 30, connections: 30, want: []float64{10. / 30, 10. / 30, 10. / 30}},
		"a client more":           {clients: 100, connections: 100, want: []float64{0.34, 0.33, 0.33}},
		"shared connections":      {clients: 100, connections: 4, want: []float64{0.5, 0.25, 0.25}},
		"one client":              {clients: 1, connections: 1, want: []float64{1, 0, 0}},
		"the leader":              {clients: 6, connections: 6, target: "leader", want: []float64{0, 1, 0}},
		"followers":               {clients: 6, connections: 6, target: "follower", want: []float64{0.5, 0, 0.5}},
		"a member":                {clients: 6, connections: 6, target: "10.0.0.3", want: []float64{0, 0, 1}},
		"two generators":          {clients: 4, connections: 4, generators: 2, want: []float64{0.5, 0.25, 0.25}},
		"an uneven part":          {clients: 3, connections: 3, generators: 2, want: []float64{0.25, 0.5, 0.25}},
		"a connection each":       {clients: 30, connections: 30, operation: workload.OpReadOneshot},
		"a part without a client": {clients: 1, connections: 1, generators: 2},
	} {
		run := &results.DatabaseRun{Leader: 1, Issuing: results.Issuing{Generators: make([]results.Generator, tc.generators)}}
		for i := range 3 {
			run.Members = append(run.Members, results.Member{Index: i, Addr: fmt.Sprintf("10.0.0.%d", i+1)})
		}
		run.Load.Target, run.Load.Operation = tc.target, tc.operation
		s := results.Step{Step: workload.Step{Clients: tc.clients, Connections: tc.connections}}
		var want []judge.MemberShare
		for i, share := range tc.want {
			want = append(want, judge.MemberShare{Clients: share, Answered: int64(i)})
		}
		got := memberShares(run, s, []int64{0, 1, 2})
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if memberShares(run, s, nil) != nil {
			t.Errorf("%s: without answers by member, want no shares", name)
		}
		if run.Generators = []results.Generator{{Lost: "it died"}}; memberShares(run, s, []int64{0, 1, 2}) != nil {
			t.Errorf("%s: without a part of the load, want no shares", name)
		}
	}
}

// TestStoppedMemberShare stops a follower for most of a load. Clients of other members send the
// requests that its clients can't, and the run has a mark for it. With requests bound to their
// clients, they wait, and there is no mark.
func TestStoppedMemberShare(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for _, bind := range []workload.Bind{workload.BindAny, workload.BindClient} {
		t.Run(string(bind), func(t *testing.T) {
			t.Parallel()
			r := startEtcd(t, steady)
			follower := (r.leader + 1) % rigSize
			rec := r.pausedInLoad(follower, "rate: 150, duration: 6s, drain: 60s, clients: 80, timeout: 60s, key_size: 32, value_size: 64, bind: "+string(bind))
			at := slices.IndexFunc(rec.run.Validity, func(m results.Mark) bool { return m.Code == mark.MemberShare })
			switch {
			case bind == workload.BindClient:
				if at >= 0 {
					t.Errorf("requests that wait for their client: want no mark of a member's share, got %+v", rec.run.Validity[at])
				}
			case slices.Contains(rec.marks(), mark.Queueing):
				t.Logf("this machine was too busy for clients to be free: %q", rec.marks())
			case at < 0:
				t.Errorf("want a mark of the share of member %d, got %q", follower+1, rec.marks())
			default:
				m := rec.run.Validity[at]
				if got := m.Values["member"]; got != float64(follower+1) || m.Invalid || math.Abs(m.Values["clients_percent"]-100./rigSize) > 1 {
					t.Errorf("want a mark of member %d with a third of the clients that leaves the run valid, got %+v", follower+1, m)
				}
				if !strings.Contains(m.Text, fmt.Sprintf("member %d answered", follower+1)) {
					t.Errorf("the mark must name member %d, got %q", follower+1, m.Text)
				}
				t.Log(m.Text)
			}
		})
	}
}

// pausedInLoad pauses a member for four seconds in a load, and returns the record. If this process
// was stopped meanwhile, or too little of the pause lies in the load, the load runs again.
func (r *running) pausedInLoad(member int, load string) record {
	t := r.rig.t
	t.Helper()
	var rec record
	var resumed chan struct{}
	var from, to time.Time
	_, _ = again(t, func() (*Outcome, error) {
		r.WaitReady()
		resumed, from, to = nil, time.Time{}, time.Time{}
		// A busy machine may make the run invalid, which this test ignores.
		out, err := r.run(r.parse(r.file(load)), once(loading, func() {
			resumed = make(chan struct{})
			r.Pause(member)
			from = time.Now()
			time.AfterFunc(4*time.Second, func() {
				to = time.Now()
				r.Resume(member)
				close(resumed)
			})
		}))
		if err != nil {
			t.Fatalf("run the experiment: %v", err)
		}
		if resumed != nil {
			<-resumed
		}
		rec = r.read(out.Folders[0], 0)
		return out, nil
	}, func(out *Outcome, _ error) string {
		if end := rec.run.LoadStart.Add(rec.run.Load.Duration); to.After(end) {
			to = end
		}
		// In the first two seconds of a pause, the member misses no more requests than by chance.
		if stopped, paused := r.stopped(out), to.Sub(from); stopped > time.Second || paused < 2500*time.Millisecond {
			return fmt.Sprintf("this process was stopped for %v, and the member paused for %v of the load", stopped, paused)
		}
		return ""
	})
	return rec
}
