package databasetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/sleep"
	"github.com/coreos/dbtester/pkg/workload"
)

// The loads in the failover case have nine clients each, three on each member. One member is killed,
// and the loads go on for a time after its clients have noticed that.
const (
	failoverClients = 9
	failoverRest    = 2500 * time.Millisecond
	// A client whose connection breaks between two requests may wait for it in the next one. A load
	// that begins after the death sends all first requests so.
	failoverTimeout     = time.Minute
	failoverLateTimeout = 3 * time.Second
)

// errFailedOver ends the load.
var errFailedOver = errors.New("the clients have failed over")

// failoverCase: clients on a killed follower wait, and do not send requests that fail at once. With
// failover they continue on the next member, even if they were idle when theirs was killed; without
// it they wait until the end. Clients with and without failover lose the same member.
func failoverCase(t *testing.T, f *fixture) {
	victim := follower(t, f)
	loads := make([]*survivors, len(workload.Failovers()))
	for n, failover := range workload.Failovers() {
		loads[n] = newSurvivors(t, f, failover, int64(n+1)*1_000_000, victim)
	}
	late := newSurvivors(t, f, workload.FailoverNext, int64(len(loads)+1)*1_000_000, victim)
	late.spec.Timeout = failoverLateTimeout
	ctx, end := context.WithCancelCause(context.WithoutCancel(t.Context()))
	defer end(nil)
	var wg sync.WaitGroup
	for _, s := range loads { // at once, when all are connected
		wg.Go(func() { s.run(ctx) })
	}
	for _, s := range loads {
		s.awaitService(t)
	}
	killed := time.Now()
	f.Kill(victim)
	dead, lost := time.Now(), int64(failoverClients/len(f.members))
	wg.Go(func() { late.run(ctx) })
	all := append(loads, late)
	for _, s := range all {
		s.awaitLoss(t, lost)
	}
	time.Sleep(max(failoverRest, time.Since(dead))) // the clients without a server wait most of the time
	end(errFailedOver)
	wg.Wait()
	for _, s := range all {
		s.close()
	}
	f.Restart(victim)
	late.checkEnd(t)
	for n, failover := range workload.Failovers() {
		f.part(t, string(failover), func(t *testing.T) { loads[n].check(t, lost, killed, dead) })
	}
	stop := keepWriting(t, f, other(f, victim))
	f.WaitReady()
	stop()
}

// keepWriting writes through a member from time to time, until stop is called and a write has
// succeeded: on a busy machine leaders change, and writes meanwhile fail. An etcd member that
// caught up by a snapshot refuses requests, even its own, until the next write in the cluster: only
// log entries advance the index from which it knows that it has caught up.
func keepWriting(t *testing.T, f *fixture, member int) (stop func()) {
	t.Helper()
	client := f.dial(t, f.To(member))
	ctx, cancel := context.WithCancel(t.Context())
	var writes sync.WaitGroup
	const each = 200 * time.Millisecond
	written, until := false, time.Now().Add(Patience)
	writes.Go(func() {
		for ctx.Err() == nil || !written && time.Now().Before(until) {
			if err := client.Put(t.Context(), f.key(), []byte("on")); err != nil {
				t.Logf("put by a member that was not killed: %v", err)
			} else {
				written = true
			}
			sleep.For(t.Context(), each)
		}
	})
	return func() {
		t.Helper()
		cancel()
		writes.Wait()
		if !written {
			t.Errorf("no put by a member that was not killed succeeded within %v", Patience)
		}
	}
}

// survivors are load clients, some of which lose their member.
type survivors struct {
	spec      load.Spec
	conns     []database.Client
	reconnect *load.Reconnect
	lost      atomic.Int64 // connections to the victim
	opened    atomic.Int64
	sink      failoverSink
	rec       *load.Recorder
	res       load.StepResult
	err       error
}

// newSurvivors connects clients for a load that creates keys from firstKey on.
func newSurvivors(t *testing.T, f *fixture, failover workload.Failover, firstKey int64, victim int) *survivors {
	t.Helper()
	s := &survivors{conns: make([]database.Client, failoverClients), sink: failoverSink{victim: victim}}
	s.spec = load.Spec{FirstKey: firstKey, Load: workload.Load{
		Content: workload.Content{Operation: workload.OpWrite},
		Sizing:  workload.Sizing{KeySize: 16, ValueSize: 64},
		Limits:  workload.Limits{Timeout: failoverTimeout},
		Route:   workload.Route{Failover: failover},
	}}
	s.rec = load.NewRecorder(&s.sink, s.spec.Operations(), nil)
	s.reconnect = &load.Reconnect{Dial: func(ctx context.Context, member int) (database.Client, error) {
		return f.driver.Dial(ctx, f.To(member))
	}}
	s.reconnect.Opened = func(int) { s.opened.Add(1) }
	s.reconnect.Lost = func(member int, _ error) {
		if member == victim {
			s.lost.Add(1)
		}
	}
	for i := range f.members {
		s.reconnect.Members = append(s.reconnect.Members, i)
	}
	for n := range s.conns {
		var err error
		if s.conns[n], err = s.reconnect.Dial(t.Context(), n%len(f.members)); err != nil {
			t.Fatalf("dial member %d: %v", n%len(f.members), err)
		}
	}
	return s
}

// run writes in a closed loop until ctx ends.
func (s *survivors) run(ctx context.Context) {
	step := load.Step{Reconnect: s.reconnect, Step: workload.Step{Clients: failoverClients, Duration: 3 * Patience}}
	s.res, s.err = load.NewEngine(s.spec, s.rec).Step(ctx, step, s.conns)
}

// awaitService waits until the member that will be killed has answered requests.
func (s *survivors) awaitService(t *testing.T) {
	t.Helper()
	Until(t, Patience, 10*time.Millisecond, func() error {
		if n := s.sink.served.Load(); n < failoverClients {
			return fmt.Errorf("failover %s: the member to be killed has answered %d requests", s.spec.Failover, n)
		}
		return nil
	})
}

// awaitLoss waits until the clients of the victim have noticed its death, and one of them has failed
// over if they do that.
func (s *survivors) awaitLoss(t *testing.T, lost int64) {
	t.Helper()
	Until(t, Patience, 10*time.Millisecond, func() error {
		if s.lost.Load() < lost || s.opened.Load() == 0 && s.spec.Failover != workload.FailoverNone {
			return fmt.Errorf("failover %s: %d connections to the killed member were lost and %d opened, want %d lost", s.spec.Failover, s.lost.Load(), s.opened.Load(), lost)
		}
		return nil
	})
}

func (s *survivors) close() {
	for _, c := range s.conns {
		if c != nil {
			_ = c.Close() // may fail for a dead member
		}
	}
}

// checkEnd fails the test unless the load went on until it was ended.
func (s *survivors) checkEnd(t *testing.T) {
	t.Helper()
	if s.err == nil || s.err.Error() != errFailedOver.Error() { // no other error may be joined with it
		t.Errorf("run the load: %v, want only %v", s.err, errFailedOver)
	}
}

// check fails the test unless exactly lost clients noticed the death of their member, which was
// killed between two times.
func (s *survivors) check(t *testing.T, lost int64, killed, dead time.Time) {
	t.Helper()
	s.checkEnd(t)
	got, res := s.rec.Totals(), s.res
	t.Logf("ok %d, failed %d, unknown %d, %d of them in elections; %d connections lost, %d reconnects, %v without a server",
		got.OK, got.Failed, got.Unknown, s.sink.elections, res.Lost, res.Reconnects, res.Waiting)
	if lag := time.Duration(s.rec.SchedulingLag().Max); lag > time.Second {
		t.Logf("this process was stopped for %v of %v: nothing can be said about its clients", lag, res.End.Sub(res.Start))
		return
	}
	// On a starved machine clients of other members may also wait until they give up.
	all := max(lost, res.Lost)
	if bad := got.Failed + got.Unknown - s.sink.elections; got.OK == 0 || bad > 2*all {
		t.Errorf("%d requests were ok and %d were not, want at most two of each of %d clients not ok", got.OK, bad, all)
	}
	if res.Lost < lost {
		t.Errorf("%d connections were lost, want the %d of the killed member", res.Lost, lost)
	}
	// The kill takes time, and so do dials: the bounds are wide.
	after := res.IssueEnd.Sub(killed)
	fewest, most := int64(1), res.Lost
	least, longest := time.Duration(0), time.Duration(all)*(after+time.Second)
	if s.spec.Failover == workload.FailoverNone {
		fewest, most = 0, res.Lost-lost
		least = time.Duration(lost) * res.IssueEnd.Sub(dead) / 2
	}
	if res.Reconnects < fewest || res.Reconnects > most || res.Waiting > longest || res.Waiting < least {
		t.Errorf("%d reconnects, %v without a server; want %d to %d, and %v to %v", res.Reconnects, res.Waiting, fewest, most, least, longest)
	}
}

// failoverSink counts the requests that failed because the leader changed, as it may on a busy
// machine, and those that one member answered. It drops other load records.
type failoverSink struct {
	victim    int
	served    atomic.Int64
	elections int64
}

func (s *failoverSink) Second(second load.Second) error {
	for _, e := range second.Errors {
		if e.Class == string(database.ClassLeaderChange) {
			s.elections += e.Count
		}
	}
	for _, m := range second.Members {
		if m.Member == s.victim {
			s.served.Add(m.OK)
		}
	}
	return nil
}

func (*failoverSink) Total(load.Total) error { return nil }
