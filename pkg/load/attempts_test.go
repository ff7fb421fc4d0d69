package load

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/backoff"
	"github.com/coreos/dbtester/pkg/workload"
)

// losing runs a step with one client for ten seconds on a fake clock. After the first second its
// member, the first, is down, and from then on members accept connections after the times in slow.
// It returns the result, and the member of the client at the end.
func losing(t *testing.T, cluster *servers, failover workload.Failover, slow ...time.Duration) (StepResult, int) {
	t.Helper()
	return losingBy(t, cluster, cluster.reconnect(), failover, slow...)
}

// losingBy is losing with another way to reconnect.
func losingBy(t *testing.T, cluster *servers, reconnect *Reconnect, failover workload.Failover, slow ...time.Duration) (StepResult, int) {
	t.Helper()
	time.AfterFunc(time.Second+startIn, func() {
		for member, d := range slow {
			cluster.slow[member].Store(int64(d))
		}
		cluster.down[0].Store(true)
	})
	spec := writes()
	spec.Failover = failover
	last := 0
	reconnect.Opened = func(member int) { last = member }
	_, _, res, err := runServers(t, spec, Step{Reconnect: reconnect, Step: workload.Step{Clients: 1, Duration: 10 * time.Second}}, cluster, 1)
	if err != nil {
		t.Fatalf("run the step: %v", err)
	}
	return res, last
}

// A member that never answers holds up a client until it is overtaken.
func TestSilentMembersAreOvertaken(t *testing.T) {
	for _, tt := range []struct {
		name  string
		slow  []time.Duration
		on    int
		waits time.Duration // after the first pause
	}{
		{"one is silent", []time.Duration{0, time.Hour, 0}, 2, backoff.Overtake},
		{"two are silent", []time.Duration{0, time.Hour, time.Hour, 0}, 3, 2 * backoff.Overtake},
		{"one is slow, and the next silent", []time.Duration{0, 400 * time.Millisecond, time.Hour}, 1, 400 * time.Millisecond},
		{"one is slow, and the next slower", []time.Duration{0, 400 * time.Millisecond, 300 * time.Millisecond}, 1, 400 * time.Millisecond},
		{"one is slow, and the next quick", []time.Duration{0, 400 * time.Millisecond, 0}, 2, backoff.Overtake},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := newServers(len(tt.slow))
				res, on := losing(t, cluster, workload.FailoverNext, tt.slow...)
				if on != tt.on || res.Reconnects != 1 || res.Lost != 1 {
					t.Errorf("after %d losses and %d reconnects the client is on member %d, want member %d", res.Lost, res.Reconnects, on, tt.on)
				}
				if least := tt.waits + 8*time.Millisecond; res.Waiting < least || res.Waiting > least+6*time.Millisecond {
					t.Errorf("the client waited %v, want %v and a pause of about 10 ms", res.Waiting, tt.waits)
				}
				for member := 1; member <= tt.on; member++ {
					if n := cluster.attempts[member].Load(); n != 1 {
						t.Errorf("%d attempts at member %d, want 1", n, member)
					}
				}
			})
		})
	}
}

// A late connection, opened after another one, is closed: runServers checks that no connection is
// left.
func TestLateConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newServers(3)
		reconnect := cluster.reconnect()
		reconnect.Dial = func(ctx context.Context, member int) (database.Client, error) {
			return cluster.dial(context.WithoutCancel(ctx), member)
		}
		res, on := losingBy(t, cluster, reconnect, workload.FailoverNext, 0, 400*time.Millisecond)
		if on != 2 || res.Reconnects != 1 || cluster.attempts[1].Load() != 1 {
			t.Errorf("after %d reconnects and %d attempts at the slow member the client is on member %d, want 1, 1 and 2", res.Reconnects, cluster.attempts[1].Load(), on)
		}
	})
}

// While one member is silent, the others are tried in turn, with pauses.
func TestSilentMemberHasOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newServers(3)
		time.AfterFunc(time.Second+startIn, func() { cluster.down[2].Store(true) })
		time.AfterFunc(3*time.Second+startIn, func() { cluster.down[2].Store(false) })
		_, on := losing(t, cluster, workload.FailoverNext, 0, time.Hour)
		if on != 2 {
			t.Errorf("the client is on member %d, want member 2", on)
		}
		// After the overtaking time, 20 ms pauses that double to a second, for 3.5 s.
		for member, want := range []int64{4, 1, 5} {
			if got := cluster.attempts[member].Load(); got != want {
				t.Errorf("%d attempts at member %d, want %d", got, member, want)
			}
		}
	})
}

// Without fail-over an attempt at a silent member has its whole time, and the next follows after a
// pause.
func TestSilentMemberWithoutFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newServers(2)
		res, _ := losing(t, cluster, workload.FailoverNone, time.Hour)
		if got := cluster.attempts[0].Load(); got != 2 || cluster.attempts[1].Load() != 0 || res.Reconnects != 0 {
			t.Errorf("%d attempts at the silent member in 9 s and %d at the other, want 2 of 5 s and none", got, cluster.attempts[1].Load())
		}
	})
}

// greeted is a connection to a server which greeted it with a byte.
type greeted struct {
	database.Client
	net.Conn
}

func (g *greeted) Close() error { return g.Conn.Close() }

func (g *greeted) Put(context.Context, []byte, []byte) error { return nil }

// The kernel of a paused member accepts connections without an answer, like a listener that no
// goroutine serves. The client is at the next member while its attempt there still lasts, unless
// something stops this test for seconds.
func TestListenerWithoutGreeting(t *testing.T) {
	addrs := []string{listen(t, true), listen(t, false), listen(t, true)}
	const tries = 5
	for n := range tries {
		if passed(t, addrs) {
			return
		}
		t.Logf("try %d: the attempt at the silent member had ended", n+1)
	}
	t.Errorf("in %d tries the client went on only after its attempt at the silent member had ended", tries)
}

// passed loses a connection to the first server. It reports whether the next one was opened while an
// attempt at the second server, which is silent, was running.
func passed(t *testing.T, addrs []string) (meanwhile bool) {
	t.Helper()
	var silent atomic.Int64
	dial := func(ctx context.Context, member int) (database.Client, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addrs[member])
		if err != nil {
			return nil, err
		}
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		if member == 1 {
			silent.Add(1)
			defer silent.Add(-1)
		}
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			conn.Close()
			return nil, err
		}
		return &greeted{Conn: conn}, nil
	}
	first, err := dial(t.Context(), 0)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	opened := make(chan int, 1)
	c := newConnection(0, first, &Reconnect{Members: []int{0, 1, 2}, Dial: dial, Opened: func(member int) {
		meanwhile = silent.Load() == 1
		opened <- member
	}}, workload.FailoverNext)
	ended := make(chan struct{})
	c.spawn = func(f func(context.Context)) {
		go func() { defer close(ended); f(t.Context()) }()
	}
	l, _ := c.acquire()
	c.lose(l, errReset)
	if on := <-opened; on != 2 {
		t.Errorf("the connection went to member %d, want member 2", on)
	}
	if <-ended; silent.Load() != 0 {
		t.Error("the attempt at the silent member is still running")
	}
	c.release(l)
	if err := c.end().Close(); err != nil {
		t.Errorf("close the connection: %v", err)
	}
	return meanwhile
}

// listen returns the address of a listener whose connections are greeted, or not served.
func listen(t *testing.T, greets bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if greets {
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				t.Cleanup(func() { conn.Close() })
				_, _ = conn.Write([]byte{1})
			}
		}()
	}
	return l.Addr().String()
}
