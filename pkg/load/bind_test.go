package load

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/schedule"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// userOf is the connection of one client. The request that writes key stalls takes stall, or breaks
// the connection if it is 0; others take no time.
type userOf struct {
	null
	n      int
	all    *users
	stalls int
	stall  time.Duration
}

// users note which client wrote which keys, and when after the start.
type users struct {
	mu    sync.Mutex
	start time.Time
	wrote map[int]map[int]time.Duration
}

func (u *userOf) Put(_ context.Context, key, _ []byte) error {
	i, err := strconv.Atoi(string(key))
	if err != nil {
		return err
	}
	u.all.mu.Lock()
	if u.all.wrote[u.n] == nil {
		u.all.wrote[u.n] = map[int]time.Duration{}
	}
	u.all.wrote[u.n][i] = time.Since(u.all.start)
	u.all.mu.Unlock()
	if i != u.stalls {
		return nil
	}
	if u.stall == 0 {
		return database.MaybeApplied(database.ClassConnection, errors.New("broken"))
	}
	time.Sleep(u.stall)
	return nil
}

// bound runs steps of a load with 4 clients, each with a connection; request 201, due at 2.01 s,
// stalls or breaks. It begins at a whole second.
type bound struct {
	spec      Spec
	stall     time.Duration
	dials     time.Duration // after the start, from when a connection can be reopened
	interrupt time.Duration // 0 is never
	steps     []workload.Step
}

func (b bound) run(t *testing.T) (all *users, sink *memory, got results.Totals) {
	t.Helper()
	all, sink = &users{wrote: map[int]map[int]time.Duration{}}, newMemory()
	rec := NewRecorder(sink, b.spec.Operations(), nil)
	e := NewEngine(b.spec, rec)
	for n, s := range b.steps {
		var conns []database.Client
		for c := range s.Clients {
			conns = append(conns, &userOf{n: c, all: all, stalls: 201, stall: b.stall})
		}
		all.start = time.Now().Add(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		if b.interrupt > 0 {
			time.AfterFunc(time.Second+b.interrupt, cancel)
		}
		reconnect := &Reconnect{Members: []int{0, 1}, Dial: func(context.Context, int) (database.Client, error) {
			if time.Since(all.start) < b.dials {
				return nil, errors.New("refused")
			}
			return &userOf{n: 1, all: all, stalls: -1}, nil
		}}
		_, err := e.Step(ctx, Step{Index: n, Step: s, Start: all.start, Reconnect: reconnect}, conns)
		cancel()
		if (err != nil) != (b.interrupt > 0) {
			t.Errorf("step %d: error %v, want one: %v", n, err, b.interrupt > 0)
		}
	}
	got = rec.Totals()
	if sums := sink.sums(); sums != got || !cmp.Equal(sink.tickSums(), tickTotals(got)) {
		t.Errorf("rows sum to %+v, want the totals %+v", sums, got)
	}
	if !got.Reconcile() || got.Offered != got.Sent+got.Shed+got.Unsent || got.Sent != got.OK+got.Failed+got.Unknown {
		t.Errorf("counts must reconcile, got %+v", got)
	}
	got.BytesWritten = 0
	return all, sink, got
}

func usersOf(bind workload.Bind, backlog workload.Backlog) Spec {
	s := writes()
	s.Bind, s.Backlog, s.Timeout = bind, backlog, time.Minute
	return s
}

const long = 10 * time.Second

var hundred = workload.Step{Clients: 4, Rate: 100, Duration: long}

// TestBoundRequestsWaitForTheirClient: when one of four members stalls for 3 s, only requests of
// its client wait, and the percentiles show it. Without bound requests one request in a thousand
// waits.
func TestBoundRequestsWaitForTheirClient(t *testing.T) {
	for _, bind := range []workload.Bind{"", workload.BindAny, workload.BindClient} {
		t.Run(string(bind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all, sink, got := bound{spec: usersOf(bind, ""), stall: 2990 * time.Millisecond, steps: []workload.Step{hundred}}.run(t)
				want := results.Totals{Offered: 1000, Sent: 1000, OK: 1000}
				p99 := time.Duration(sink.quant[results.Series{Timing: results.TimingResponse, Operation: "write", Outcome: workload.OK, Phase: results.PhaseMeasure}](.99))
				if bind != workload.BindClient {
					if got != want || p99 > time.Millisecond {
						t.Errorf("%+v and p99 %v, want %+v and at most 1ms", got, p99, want)
					}
					return
				}
				// 205, 209, ... 497 are due while client 1 is busy until 5.00 s. Ten requests take
				// longer than 241, due at 2.41 s: 201, which stalled, and those up to 237.
				want.Queued = 74
				if got != want || p99 < 2590*time.Millisecond || p99 > 2600*time.Millisecond {
					t.Errorf("%+v and p99 %v, want %+v and 2.59s", got, p99, want)
				}
				for n, keys := range all.wrote {
					if len(keys) != 250 {
						t.Errorf("client %d sent %d requests, want 250", n, len(keys))
					}
					for i, at := range keys {
						due := time.Duration(i) * 10 * time.Millisecond
						if n == 1 && due > 2010*time.Millisecond && due < 5*time.Second {
							due = 5 * time.Second
						}
						if i%4 != n || at != due {
							t.Errorf("client %d sent request %d at %v, want client %d at %v", n, i, at, i%4, due)
						}
					}
				}
			})
		})
	}
}

// TestBoundAccounts: every request ends as exactly one of ok, failed, unknown, shed and
// unsent, whatever happens to its client.
func TestBoundAccounts(t *testing.T) {
	const client, shed, keep = workload.BindClient, workload.BacklogShed, workload.BacklogKeep
	stall, never := 2990*time.Millisecond, time.Hour
	once := []workload.Step{hundred}
	for name, c := range map[string]struct {
		bound
		want results.Totals
	}{
		"shed while busy": {bound{spec: usersOf(client, shed), stall: stall, steps: once},
			results.Totals{Offered: 1000, Sent: 926, OK: 926, Shed: 74}},
		"not bound, nobody is busy": {bound{spec: usersOf("", shed), stall: stall, steps: once},
			results.Totals{Offered: 1000, Sent: 1000, OK: 1000}},
		// The call ends after the drain. 205, 209, ... 997 waited for it.
		"busy to the end": {bound{spec: usersOf(client, keep), stall: 20 * time.Second, steps: once},
			results.Totals{Offered: 1000, Sent: 801, OK: 801, Unsent: 199}},
		"busy to the end, shed": {bound{spec: usersOf(client, shed), stall: 20 * time.Second, steps: once},
			results.Totals{Offered: 1000, Sent: 801, OK: 801, Unsent: 199}},
		// 349 is the client's last one due before 3.5 s, and the drain ends at 4.5 s.
		"interrupted": {bound{spec: usersOf(client, keep), stall: stall, steps: once, interrupt: 3500 * time.Millisecond},
			results.Totals{Offered: 351, Sent: 314, OK: 314, Unsent: 37}},
		"no server": {bound{spec: usersOf(client, keep), dials: never, steps: once},
			results.Totals{Offered: 1000, Sent: 801, OK: 800, Unknown: 1, Unsent: 199}},
		"no server, shed": {bound{spec: usersOf(client, shed), dials: never, steps: once},
			results.Totals{Offered: 1000, Sent: 801, OK: 800, Unknown: 1, Shed: 199}},
		"no server, not bound": {bound{spec: usersOf("", keep), dials: never, steps: once},
			results.Totals{Offered: 1000, Sent: 1000, OK: 999, Unknown: 1}},
		// With 5 clients, 201 is client 1's too. The stall ends at 5.00 s, and 206, 211, ... 496 wait.
		"other clients": {bound{spec: usersOf(client, keep), stall: stall, steps: []workload.Step{
			{Clients: 5, Rate: 100, Duration: long}, {Clients: 3, Rate: 100, Requests: 100}, {Clients: 7, Requests: 100}}},
			results.Totals{Offered: 1200, Sent: 1200, OK: 1200, Queued: 59}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if _, _, got := c.run(t); got != c.want {
					t.Errorf("totals %s", cmp.Diff(c.want, got))
				}
			})
		})
	}
}

// TestBoundClientFindsAServer: client requests wait without a server until it has one, or are shed
// then.
func TestBoundClientFindsAServer(t *testing.T) {
	for _, backlog := range []workload.Backlog{workload.BacklogKeep, workload.BacklogShed} {
		t.Run(string(backlog), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all, _, got := bound{spec: usersOf(workload.BindClient, backlog), dials: 5 * time.Second, steps: []workload.Step{hundred}}.run(t)
				waited := got.Queued + got.Shed // at least 205, 209, ... 497; the pause between two attempts is below 2 s
				if got.Offered != 1000 || got.Unknown != 1 || got.Unsent != 0 || waited < 74 || waited > 74+50 || (got.Shed > 0) != (backlog == workload.BacklogShed) {
					t.Errorf("totals %+v, want 74 to 124 requests that waited", got)
				}
				for i, at := range all.wrote[1] {
					if i > 201 && at < 5*time.Second {
						t.Errorf("request %d was sent at %v, without a server", i, at)
					}
				}
			})
		})
	}
}

// TestBoundParts: clients in all parts send the same requests as one part, at the same times.
func TestBoundParts(t *testing.T) {
	spec := usersOf(workload.BindClient, "")
	spec.Arrival = workload.ArrivalPoisson
	steps := []workload.Step{{Clients: 12, Requests: 601, Rate: 500}, {Clients: 24, Requests: 601, Rate: 500}}
	want := issue(t, spec, steps, 20*time.Millisecond, 1)
	if n := want.Totals; n.Offered != 1202 || n.OK != 1202 || n.Queued == 0 {
		t.Fatalf("one part: %+v, want 1202 requests of which some wait", n)
	}
	for of := 2; of <= 4; of++ {
		got := issue(t, spec, steps, 20*time.Millisecond, of)
		for n := range steps {
			if diff := cmp.Diff(want.Calls[n], got.Calls[n]); diff != "" {
				t.Errorf("step %d in %d parts sends other requests than one (-one +parts): %s", n, of, firstLines(diff))
			}
		}
		if diff := cmp.Diff(want.Totals, got.Totals); diff != "" {
			t.Errorf("%d parts have other totals (-one +parts): %s", of, diff)
		}
	}
	spec.Part = schedule.Part{Index: 0, Of: 3}
	e := NewEngine(spec, NewRecorder(newMemory(), spec.Operations(), nil))
	if _, err := e.Step(t.Context(), Step{Step: workload.Step{Clients: 10, Requests: 601, Rate: 500}}, []database.Client{null{}}); err == nil {
		t.Error("3 parts of 10 clients with bound requests are accepted")
	}
}
