package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// servers are members that are up or down, on a fake clock. A request takes a
// millisecond, or fails at once if its member is down.
type servers struct {
	down               []atomic.Bool
	slow               []atomic.Int64 // by member, nanoseconds until it accepts a connection
	requests, attempts []atomic.Int64 // by member
	open               atomic.Int64   // connections
	// patient, if not nil, is the error with which a request to a member that is down ends when its
	// time is over.
	patient error
}

var (
	errRefused = database.NotApplied(database.ClassUnavailable, errors.New("connection refused"))
	errReset   = database.MaybeApplied(database.ClassConnection, errors.New("connection reset"))
)

func newServers(n int) *servers {
	return &servers{down: make([]atomic.Bool, n), slow: make([]atomic.Int64, n), requests: make([]atomic.Int64, n), attempts: make([]atomic.Int64, n)}
}

// serverClient is one connection to one of the servers.
type serverClient struct {
	*servers
	member int
	closed atomic.Bool
}

func (s *servers) dial(ctx context.Context, member int) (database.Client, error) {
	s.attempts[member].Add(1)
	if !sleep.For(ctx, time.Duration(s.slow[member].Load())) {
		return nil, errRefused
	}
	if s.down[member].Load() {
		return nil, errRefused
	}
	s.open.Add(1)
	return &serverClient{servers: s, member: member}, nil
}

// conns opens n connections to the servers in turn.
func (s *servers) conns(n int) []database.Client {
	conns := make([]database.Client, n)
	for i := range conns {
		conns[i], _ = s.dial(context.Background(), i%len(s.down))
	}
	for m := range s.attempts {
		s.attempts[m].Store(0)
	}
	return conns
}

func (s *servers) reconnect() *Reconnect {
	members := make([]int, len(s.down))
	for i := range members {
		members[i] = i
	}
	return &Reconnect{Members: members, Dial: s.dial}
}

func (c *serverClient) Put(ctx context.Context, _, _ []byte) error {
	if c.closed.Load() {
		return errors.New("the connection is closed")
	}
	c.requests[c.member].Add(1)
	if c.down[c.member].Load() {
		if c.patient != nil {
			<-ctx.Done()
			return c.patient
		}
		return errRefused
	}
	time.Sleep(time.Millisecond)
	if c.down[c.member].Load() {
		return errReset
	}
	return nil
}

func (c *serverClient) Get(ctx context.Context, key []byte, _ workload.ReadMode) ([]byte, error) {
	return nil, c.Put(ctx, key, nil)
}

func (c *serverClient) Close() error {
	if c.closed.Swap(true) {
		return errors.New("the connection was closed before")
	}
	c.open.Add(-1)
	return nil
}

// runServers runs one step and closes its connections, which must all be closed.
func runServers(t *testing.T, spec Spec, s Step, cluster *servers, conns int) (*memory, *Recorder, StepResult, error) {
	t.Helper()
	sink := newMemory()
	rec := NewRecorder(sink, spec.Operations(), nil)
	clients := cluster.conns(conns)
	res, err := NewEngine(spec, rec).Step(t.Context(), s, clients)
	if got, want := sink.sums(), rec.Totals(); !cmp.Equal(got, want) || !want.Reconcile() {
		t.Errorf("rows must sum to totals that reconcile: %s", cmp.Diff(want, got))
	}
	for _, c := range clients {
		if c != nil {
			if err := c.Close(); err != nil {
				t.Errorf("close a connection after the step: %v", err)
			}
		}
	}
	if n := cluster.open.Load(); n != 0 {
		t.Errorf("%d connections are open after the step was closed, want 0: each is closed once", n)
	}
	return sink, rec, res, err
}

// waited sums the waiting times in rows for a phase.
func waited(rows []results.Interval, phase results.Phase) (sum time.Duration) {
	for _, r := range rows {
		if r.Phase == phase {
			sum += time.Duration(r.WaitingNS)
		}
	}
	return sum
}

// TestDeadMemberIsNoBusyLoop: 100 clients use three members, 34, 33 and 33 each; one member dies
// after 3 of 8 s. Only the requests that find out fail.
func TestDeadMemberIsNoBusyLoop(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for _, failover := range workload.Failovers() {
		for _, conns := range []int{100, 6} {
			t.Run(fmt.Sprintf("%s over %d connections", failover, conns), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					deadMember(t, failover, conns)
				})
			})
		}
	}
}

func deadMember(t *testing.T, failover workload.Failover, conns int) {
	const clients = 100
	const dead = 1
	cluster := newServers(3)
	time.AfterFunc(3*time.Second+startIn, func() { cluster.down[dead].Store(true) })
	spec := writes()
	spec.Failover, spec.WarmUp, spec.CoolDown = failover, 4*time.Second, time.Second
	on := 0 // clients of the dead member
	for n := range clients {
		if n%conns%3 == dead {
			on++
		}
	}
	step := Step{Reconnect: cluster.reconnect(), Step: workload.Step{Clients: clients, Duration: 8 * time.Second}}
	sink, rec, res, err := runServers(t, spec, step, cluster, conns)
	if err != nil {
		t.Fatalf("run the step: %v", err)
	}
	totals := rec.Totals()
	lost := 0
	for n := range conns {
		if n%3 == dead {
			lost++
		}
	}
	if bad := totals.Failed + totals.Unknown; bad < int64(lost) || bad > int64(on) || res.Lost != int64(lost) {
		t.Errorf("%d failed, %d unknown, %d connections lost; want one of each of at most %d clients and %d connections",
			totals.Failed, totals.Unknown, res.Lost, on, lost)
	}
	window := 3 * time.Second // from 4 s to 7 s
	want := time.Duration(on) * window
	switch failover {
	case workload.FailoverNone:
		if res.Reconnects != 0 {
			t.Errorf("%d reconnects to a dead member, want 0", res.Reconnects)
		}
		// 10 ms pauses that double to a second: 7 take 1.27 s, and 4 more follow.
		if n := cluster.attempts[dead].Load(); n < int64(9*lost) || n > int64(13*lost) {
			t.Errorf("%d attempts of %d connections to connect to the dead member, want about 11 of each", n, lost)
		}
	case workload.FailoverNext:
		want = 0
		if res.Reconnects != int64(lost) || cluster.attempts[dead].Load() != 0 || cluster.attempts[2].Load() != int64(lost) {
			t.Errorf("%d reconnects after %d attempts with the next member, want %d", res.Reconnects, cluster.attempts[2].Load(), lost)
		}
	}
	if res.Waiting != want || waited(sink.rows, results.PhaseMeasure) != want {
		t.Errorf("clients waited %v for a server in the window, rows of the measured phase have %v; want %v exactly",
			res.Waiting, waited(sink.rows, results.PhaseMeasure), want)
	}
	before := waited(sink.rows, results.PhaseWarmUp)
	if most := time.Duration(on) * time.Second; failover == workload.FailoverNone && (before > most || before < most-time.Duration(on)*2*time.Millisecond) ||
		failover == workload.FailoverNext && (before < time.Duration(on)*7*time.Millisecond || before > time.Duration(on)*12*time.Millisecond) {
		t.Errorf("clients waited %v for a server in the warm-up, want a second, or a pause of 10 ms with fail-over, of %d clients", before, on)
	}
}

// TestOutageEatsNoRequests: all members are gone for 0.3 s in a closed loop with 60,000 requests.
func TestOutageEatsNoRequests(t *testing.T) {
	for _, failover := range workload.Failovers() {
		synctest.Test(t, func(t *testing.T) {
			const clients = 60
			cluster := newServers(3)
			set := func(down bool) {
				for m := range cluster.down {
					cluster.down[m].Store(down)
				}
			}
			time.AfterFunc(300*time.Millisecond, func() { set(true) })
			time.AfterFunc(600*time.Millisecond, func() { set(false) })
			spec := writes()
			spec.Failover = failover
			_, rec, res, err := runServers(t, spec, Step{Reconnect: cluster.reconnect(), Step: workload.Step{Clients: clients, Requests: 60_000}}, cluster, clients)
			if err != nil {
				t.Fatalf("run the step: %v", err)
			}
			if got := rec.Totals(); got.Failed+got.Unknown > clients || got.OK < 60_000-clients || res.Reconnects != clients {
				t.Errorf("failover %s: %+v, %d reconnects; want at most one failure of each of %d clients", failover, got, res.Reconnects, clients)
			}
			if low, high := clients*290*time.Millisecond, clients*600*time.Millisecond; res.Waiting < low || res.Waiting > high {
				t.Errorf("failover %s: clients waited %v, want at least their 0.3 s and at most a pause more", failover, res.Waiting)
			}
		})
	}
}

// TestDueWithoutServer: with a rate, requests that become due without any member stay
// due. They are sent late, or shed if the load sheds.
func TestDueWithoutServer(t *testing.T) {
	for _, c := range []struct {
		name    string
		back    time.Duration // when the member is up again; 0 is never
		backlog workload.Backlog
		check   func(results.Totals) bool
		want    string
	}{
		{"sent late", 2 * time.Second, workload.BacklogKeep, func(g results.Totals) bool { return g.Queued >= 80 && g.OK >= 395 && g.Unsent == 0 }, "those of an outage of a second queued and ok"},
		{"never sent", 0, workload.BacklogKeep, func(g results.Totals) bool { return g.Unsent >= 295 && g.OK+g.Failed+g.Unknown <= 105 }, "those of the last 3 s unsent"},
		{"shed", 2 * time.Second, workload.BacklogShed, func(g results.Totals) bool { return g.Shed >= 90 && g.Shed <= 180 && g.Unsent == 0 }, "those of the outage shed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := newServers(1)
				time.AfterFunc(time.Second, func() { cluster.down[0].Store(true) })
				if c.back > 0 {
					time.AfterFunc(c.back, func() { cluster.down[0].Store(false) })
				}
				spec := writes()
				spec.Backlog = c.backlog
				_, rec, res, err := runServers(t, spec, Step{Reconnect: cluster.reconnect(), Step: workload.Step{Clients: 5, Duration: 4 * time.Second, Rate: 100}}, cluster, 5)
				if err != nil {
					t.Fatalf("run the step: %v", err)
				}
				got := rec.Totals()
				if got.Offered != 400 || got.Failed+got.Unknown > 5 || !c.check(got) {
					t.Errorf("%+v, want 400 offered, at most 5 failed, and %s", got, c.want)
				}
				if length := res.End.Sub(res.Start); length > 5*time.Second+10*time.Millisecond {
					t.Errorf("the step took %v, want at most 4 s and a drain of 1 s", length)
				}
				if c.back == 0 && (res.Waiting > 15*time.Second || res.Waiting < 14900*time.Millisecond) {
					t.Errorf("clients waited %v, want 5 x 3 s", res.Waiting)
				}
			})
		})
	}
}

// TestLastRequestsOfOthers: clients without a server do not keep a step open if others
// have taken its requests.
func TestLastRequestsOfOthers(t *testing.T) {
	for _, rate := range []float64{0, 1000} {
		synctest.Test(t, func(t *testing.T) {
			cluster := newServers(2)
			time.AfterFunc(500*time.Millisecond, func() { cluster.down[1].Store(true) })
			spec := writes()
			spec.Failover = workload.FailoverNone
			_, rec, res, err := runServers(t, spec, Step{Reconnect: cluster.reconnect(), Step: workload.Step{Clients: 4, Requests: 3000, Rate: rate}}, cluster, 4)
			if err != nil {
				t.Fatalf("run the step: %v", err)
			}
			// 2,000 in the closed loop's first half second, then 2 a millisecond.
			want := time.Second
			if rate > 0 {
				want = 3 * time.Second
			}
			if got, length := rec.Totals(), res.End.Sub(res.Start); got.OK < 2996 || (length-want).Abs() > 20*time.Millisecond {
				t.Errorf("rate %v: %+v in %v, want all but 4 ok in %v", rate, got, length, want)
			}
		})
	}
}

// TestTimeoutWithoutConnection: a client that waits for its connection until a request's time is over
// continues on the next member, unless failover keeps it; one that waits for an answer stays.
func TestTimeoutWithoutConnection(t *testing.T) {
	for _, tt := range []struct {
		failover  workload.Failover
		err       error
		lost, new int64
	}{
		{workload.FailoverNext, database.NotApplied(database.ClassTimeout, database.ErrDisconnected), 1, 1},
		{workload.FailoverNone, database.NotApplied(database.ClassTimeout, database.ErrDisconnected), 1, 0},
		{workload.FailoverNext, database.MaybeApplied(database.ClassTimeout, context.DeadlineExceeded), 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			cluster := newServers(2)
			cluster.patient = tt.err
			cluster.down[1].Store(true)
			spec := writes()
			spec.Failover, spec.Timeout = tt.failover, 100*time.Millisecond
			conns := []database.Client{&serverClient{servers: cluster, member: 0}, &serverClient{servers: cluster, member: 1}}
			cluster.open.Store(2)
			rec := NewRecorder(newMemory(), spec.Operations(), nil)
			step := Step{Reconnect: cluster.reconnect(), Step: workload.Step{Clients: 2, Duration: 3 * time.Second}}
			res, err := NewEngine(spec, rec).Step(t.Context(), step, conns)
			if got := rec.Totals(); err != nil || res.Lost != tt.lost || res.Reconnects != tt.new || got.Failed+got.Unknown == 0 {
				t.Errorf("%s, %v: %d connections lost, %d reconnects, totals %+v, %v; want %d and %d", tt.failover, tt.err, res.Lost, res.Reconnects, got, err, tt.lost, tt.new)
			}
		})
	}
}

// TestNoServerAtAll: a closed loop without a duration is abandoned when no member comes
// back, and an interrupt ends it earlier.
func TestNoServerAtAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newServers(2)
		time.AfterFunc(time.Second, func() { cluster.down[0].Store(true); cluster.down[1].Store(true) })
		step := Step{Reconnect: cluster.reconnect(), Step: workload.Step{Clients: 4, Requests: 1 << 30}}
		_, _, res, err := runServers(t, writes(), step, cluster, 4)
		if err == nil || !strings.Contains(err.Error(), "no member has accepted a connection for 1m0s") {
			t.Errorf("error %v, want that no member accepts a connection", err)
		}
		if length := res.End.Sub(res.Start); length < time.Minute || length > 63*time.Second {
			t.Errorf("the step took %v, want a minute after 1 s", length)
		}
	})
}

// TestMembersGone: a closed loop without a duration ends soon after its last member has
// ended for good.
func TestMembersGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newServers(2)
		time.AfterFunc(time.Second, func() { cluster.down[0].Store(true); cluster.down[1].Store(true) })
		reconnect := cluster.reconnect()
		reconnect.Gone = func() bool { return cluster.down[0].Load() && cluster.down[1].Load() }
		step := Step{Reconnect: reconnect, Step: workload.Step{Clients: 4, Requests: 1 << 30}}
		_, rec, res, err := runServers(t, writes(), step, cluster, 4)
		if !errors.Is(err, ErrMembersGone) {
			t.Errorf("error %v, want %v", err, ErrMembersGone)
		}
		if length := res.End.Sub(res.Start); length > 4*time.Second {
			t.Errorf("the step took %v, want little more than the second that members answered", length)
		}
		if totals := rec.Totals(); totals.OK < 3000 {
			t.Errorf("%d requests ended ok, want those of the first second", totals.OK)
		}
	})
}

// TestBackoffIsOfServedRequests: a member that accepts connections and refuses every
// request gets fewer and fewer requests.
func TestBackoffIsOfServedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newServers(1)
		reconnect := cluster.reconnect()
		conns := cluster.conns(1)
		cluster.down[0].Store(true)
		reconnect.Dial = func(context.Context, int) (database.Client, error) {
			return &serverClient{servers: cluster}, nil
		}
		var lost atomic.Int64
		reconnect.Lost = func(int, error) { lost.Add(1) }
		rec := NewRecorder(newMemory(), []workload.Op{workload.OpWrite}, nil)
		res, err := NewEngine(writes(), rec).Step(t.Context(), Step{Reconnect: reconnect, Step: workload.Step{Clients: 1, Duration: 10 * time.Second}}, conns)
		if err != nil {
			t.Fatalf("run the step: %v", err)
		}
		if got := rec.Totals(); got.Failed < 13 || got.Failed > 20 || lost.Load() != got.Failed || res.Lost != got.Failed {
			t.Errorf("%+v and %d losses in 10 s, want about 16: pauses double to a second", got, lost.Load())
		}
	})
}

// TestSingleConnectionsBackOff: requests that each open a connection pause after a refused one, and
// do not replace the client's own connection.
func TestSingleConnectionsBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newServers(1)
		spec := writes()
		spec.Operation, spec.Keys, spec.Read = workload.OpReadOneshot, 1, workload.ReadLinearizable
		refused := func(context.Context) (database.Client, error) { return nil, errRefused }
		step := Step{Dial: refused, Reconnect: cluster.reconnect(), Step: workload.Step{Clients: 2, Duration: 10 * time.Second}}
		_, rec, res, err := runServers(t, spec, step, cluster, 2)
		if err != nil {
			t.Fatalf("run the step: %v", err)
		}
		if got := rec.Totals(); got.Failed < 26 || got.Failed > 40 || res.Lost != 0 {
			t.Errorf("%+v and %d losses, want about 16 failures of each client and none", got, res.Lost)
		}
		if res.Waiting < 20*time.Second-time.Millisecond || res.Waiting > 20*time.Second {
			t.Errorf("clients waited %v, want 2 x 10 s", res.Waiting)
		}
	})
}

// resending is a client whose library resends requests.
type resending struct {
	serverClient
	resent int64
}

func (r *resending) Resent() int64 { return r.resent }

// TestResends: resent requests are counted over all clients on a connection, for each client from
// when it joined.
func TestResends(t *testing.T) {
	s := newServers(1)
	first, second := &resending{serverClient{servers: s}, 5}, &resending{serverClient{servers: s}, 2}
	c := newConnection(0, first, &Reconnect{Members: []int{0}}, workload.FailoverNext)
	c.spawn = func(func(context.Context)) {} // no step runs
	l, _ := c.acquire()
	first.resent += 3
	if got := c.resends(); got != 3 {
		t.Errorf("%d requests were sent again over the first client, want 3", got)
	}
	c.lose(l, errReset)
	c.release(l)
	c.closing.Wait()
	c.adopt(newLink(second, 0), 0)
	second.resent += 4
	if got := c.resends(); got != 7 {
		t.Errorf("%d requests were sent again over both clients, want 7", got)
	}
	if got := newConnection(0, &serverClient{servers: s}, nil, workload.FailoverNext).resends(); got != 0 {
		t.Errorf("%d requests were sent again by a client that never does", got)
	}
}
