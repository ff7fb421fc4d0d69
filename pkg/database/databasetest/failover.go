package databasetest

import (
	"context"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/workload"
)

// The load of the fail-over case: nine clients, three on each member, one of which is
// killed.
const (
	failoverClients = 9
	failoverFor     = 4 * time.Second
	failoverKill    = 1500 * time.Millisecond
)

// failoverCase: the clients of a follower that is killed wait, and do not send
// requests that fail at once. With fail-over they continue on the next member; without
// they wait until the end.
func failoverCase(t *testing.T, f *fixture) {
	for n, failover := range workload.Failovers() {
		f.part(t, string(failover), func(t *testing.T) {
			victim := follower(t, f)
			got, res := loadAndKill(t, f, failover, int64(n+1)*1_000_000, victim)
			t.Logf("ok %d, failed %d, unknown %d; %d connections lost, %d reconnects, %v without a server",
				got.OK, got.Failed, got.Unknown, res.Lost, res.Reconnects, res.Waiting)
			lost := int64(failoverClients / len(f.members))
			if bad := got.Failed + got.Unknown; got.OK == 0 || bad > 2*lost {
				t.Errorf("%d requests were ok and %d were not, want at most two of each of %d clients not ok", got.OK, bad, lost)
			}
			if res.Lost < lost || res.Lost > lost+1 {
				t.Errorf("%d connections were lost, want the %d of the killed member", res.Lost, lost)
			}
			// The kill takes time, and so does a busy machine: the bounds are wide.
			all := time.Duration(lost) * (failoverFor - failoverKill)
			reconnects, least := res.Lost, time.Duration(0)
			if failover == workload.FailoverNone {
				reconnects, least = res.Lost-lost, all/2
			}
			most := all + time.Duration(lost)*time.Second
			if res.Reconnects != reconnects || res.Waiting > most || res.Waiting < least {
				t.Errorf("%d reconnects, %v without a server; want %d, and %v to %v", res.Reconnects, res.Waiting, reconnects, least, most)
			}
		})
		f.WaitReady()
	}
}

// loadAndKill runs a closed loop of writes that create keys from a number on, kills a
// member during it and restarts the member after it.
func loadAndKill(t *testing.T, f *fixture, failover workload.Failover, firstKey int64, victim int) (counts totals, res load.StepResult) {
	t.Helper()
	spec := load.Spec{FirstKey: firstKey, Load: workload.Load{
		Operation: workload.OpWrite, KeySize: 16, ValueSize: 64, Timeout: 3 * time.Second, Failover: failover,
	}}
	reconnect := &load.Reconnect{Dial: func(ctx context.Context, member int) (database.Client, error) {
		return f.driver.Dial(ctx, f.To(member))
	}}
	conns := make([]database.Client, failoverClients)
	for i := range f.members {
		reconnect.Members = append(reconnect.Members, i)
	}
	for n := range conns {
		var err error
		if conns[n], err = reconnect.Dial(t.Context(), n%len(f.members)); err != nil {
			t.Fatalf("dial member %d: %v", n%len(f.members), err)
		}
	}
	rec := load.NewRecorder(noSink{}, spec.Operations(), nil)
	ended := make(chan error, 1)
	go func() {
		var err error
		step := load.Step{Reconnect: reconnect, Step: workload.Step{Clients: failoverClients, Duration: failoverFor}}
		res, err = load.NewEngine(spec, rec).Step(context.WithoutCancel(t.Context()), step, conns)
		ended <- err
	}()
	time.Sleep(failoverKill)
	f.Kill(victim)
	if err := <-ended; err != nil {
		t.Errorf("run the load: %v", err)
	}
	for _, c := range conns {
		if c != nil {
			_ = c.Close() // that of a dead member may fail
		}
	}
	f.Restart(victim)
	all := rec.Totals()
	return totals{OK: all.OK, Failed: all.Failed, Unknown: all.Unknown}, res
}

// totals counts requests by their outcome.
type totals struct{ OK, Failed, Unknown int64 }

// noSink drops the records of a load.
type noSink struct{}

func (noSink) Second(load.Second) error { return nil }
func (noSink) Total(load.Total) error   { return nil }
