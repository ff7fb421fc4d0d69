package load

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/workload"
)

// TestFailBack: the connections of a dead member go to the next one, and back on request once the
// member serves again. Requests then go to all members alike, and no request fails by it.
func TestFailBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const dead, conns = 1, 6
		cluster := newServers(3)
		reconnect := cluster.reconnect()
		asked := make(chan FailBack)
		reconnect.FailBack = asked
		ask := func() FailedBack {
			result := make(chan FailedBack, 1)
			asked <- FailBack{t.Context(), result}
			return <-result
		}
		var results []FailedBack
		var failed, after [3]int64
		go func() {
			time.Sleep(time.Second)
			results = append(results, ask()) // no client has failed over
			cluster.down[dead].Store(true)
			time.Sleep(time.Second)
			time.AfterFunc(500*time.Millisecond, func() { cluster.down[dead].Store(false) })
			results = append(results, ask()) // when the member is up
			for m := range after {
				failed[m] = cluster.requests[m].Load()
			}
			time.Sleep(time.Second)
			for m := range after {
				after[m] = cluster.requests[m].Load() - failed[m]
			}
			results = append(results, ask()) // all are back
			cluster.down[2].Store(true)
			time.Sleep(100 * time.Millisecond)
			results = append(results, ask()) // until the step ends
		}()
		spec := writes()
		spec.Failover = workload.FailoverNext
		step := Step{Reconnect: reconnect, Step: workload.Step{Clients: 12, Duration: 4 * time.Second}}
		_, rec, res, err := runServers(t, spec, step, cluster, conns)
		if err != nil {
			t.Fatalf("run the step: %v", err)
		}
		synctest.Wait()
		want := []FailedBack{{}, {Returned: 2}, {}, {Away: 2}}
		if len(results) != len(want) {
			t.Fatalf("results %+v, want %+v", results, want)
		}
		for i, got := range results {
			if got != want[i] {
				t.Errorf("request %d to fail back: %+v, want %+v", i+1, got, want[i])
			}
		}
		// A client has one request in flight where it was.
		for m, n := range after {
			if n < 3990 || n > 4010 {
				t.Errorf("member %d got %d requests in the second after, want the 4000 of four clients", m+1, n)
			}
		}
		if bad := rec.Totals().Failed + rec.Totals().Unknown; bad > 8 || res.Lost != 4 || res.Reconnects != 4 {
			t.Errorf("%d requests failed, %d connections were lost and %d opened in their place; want those of the four clients of each dead member, of 2 connections", bad, res.Lost, res.Reconnects)
		}
	})
}

// TestReplacedLink: a client whose link was replaced while it waited for its next request is free.
// The request is neither shed nor queued, whether another client lost the link or it went back.
func TestReplacedLink(t *testing.T) {
	for _, backlog := range []workload.Backlog{workload.BacklogKeep, workload.BacklogShed} {
		synctest.Test(t, func(t *testing.T) {
			cluster := newServers(2)
			reconnect := cluster.reconnect()
			asked, result := make(chan FailBack), make(chan FailedBack, 1)
			reconnect.FailBack = asked
			time.AfterFunc(2*time.Second, func() { cluster.down[1].Store(true) })
			time.AfterFunc(4500*time.Millisecond, func() {
				cluster.down[1].Store(false)
				asked <- FailBack{t.Context(), result}
			})
			spec := writes()
			spec.Failover, spec.Backlog = workload.FailoverNext, backlog
			// A request is due in 100 ms, and each client waits for its next one for a second.
			step := Step{Reconnect: reconnect, Step: workload.Step{Clients: 10, Rate: 10, Duration: 8 * time.Second}}
			_, rec, res, err := runServers(t, spec, step, cluster, 2)
			if err != nil {
				t.Fatalf("run the step: %v", err)
			}
			if back := <-result; back != (FailedBack{Returned: 1}) || res.Lost != 1 || res.Reconnects != 1 {
				t.Errorf("%s: %+v, %d connections lost and %d reopened; want one each", backlog, back, res.Lost, res.Reconnects)
			}
			if got := rec.Totals(); got.Shed != 0 || got.Queued != 0 || got.OK+got.Failed+got.Unknown != 80 || got.Failed+got.Unknown != 1 {
				t.Errorf("%s: %+v, want 80 sent of which one failed, none shed and none queued", backlog, got)
			}
		})
	}
}
