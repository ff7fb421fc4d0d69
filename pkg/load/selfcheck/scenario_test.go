package selfcheck

import (
	"context"
	"errors"
	"math"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep"
)

// freeze returns a load at a rate on a server that stalls for a tenth of the time.
// There are enough clients, so each request that meets the stall waits until its
// end and no longer. The stall begins between two due times.
func freeze(d time.Duration, rate float64) scenario {
	const delay = 50 * time.Millisecond
	return scenario{
		law: Law{
			Delays:     []Delay{{thousand, delay}},
			StallAfter: d/2 + time.Duration(0.5e9/rate),
			StallFor:   d / 10,
		},
		clients: int(rate*(d/10+delay).Seconds()) + 20, rate: rate, duration: d,
	}
}

// off returns the difference from the wanted value, in percent.
func off(got, want int64) float64 { return 100 * math.Abs(float64(got-want)) / float64(want) }

// wantTheory compares the percentiles of theory with arithmetic: a tenth of the
// requests waited, uniformly up to the whole stall.
func wantTheory(t *testing.T, c Comparison) {
	t.Helper()
	delay, stall := c.Law.Delays[0].Delay, c.Law.StallFor
	for _, row := range c.Rows {
		want := delay
		if row.Quantile > 0.9 {
			want += time.Duration((row.Quantile - 0.9) / 0.1 * float64(stall))
		}
		if gap := time.Duration(1e9 / c.Rate); (time.Duration(row.Theory) - want).Abs() > gap {
			t.Errorf("%s is %v in theory, want %v", row.Name, time.Duration(row.Theory), want)
		}
	}
}

// TestStallOverTCP runs 10 s at 100 requests a second against a process that stalls for one
// second, in real time.
func TestStallOverTCP(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	var far []Row
	for range 6 { // other load on the machine may disturb some tries, or all
		lag := wakeups(t.Context())
		c, err := freeze(10*time.Second, 100).run(t.Context(), serverArgv(t))
		late, latest := lag()
		if err != nil {
			t.Fatalf("run the scenario: %v", err)
		}
		if c.N != 1000 || c.Timing != results.TimingResponse {
			t.Fatalf("%d requests by %s, want 1000 by response", c.N, c.Timing)
		}
		wantTheory(t, c)
		// Other load delays the server too, which its own log shows. So the measurement
		// must be within 1 % of the truth, and as close to theory as the truth is. It also delays
		// this process, which wakes up when a request is due and when its answer is there. A single
		// stop may make the longest answers, of about a second, a percent longer.
		disturbed := latest > 8*time.Millisecond || slices.ContainsFunc(c.Rows, func(r Row) bool { return off(r.True, r.Theory) > 1 })
		wrong := slices.DeleteFunc(c.Rows, func(r Row) bool {
			mayBe := 1 + 100*float64(3*late)/float64(r.True)
			return off(r.Measured, r.True) <= mayBe && off(r.Measured, r.Theory) <= mayBe+off(r.True, r.Theory)
		})
		if len(wrong) == 0 {
			return
		}
		if disturbed {
			t.Logf("the machine is busy, wake-ups are %v late and one %v, try again: %+v", late, latest, wrong)
			continue
		}
		far = wrong
	}
	for _, r := range far {
		t.Errorf("response %s: measured %v, true %v, in theory %v, want the truth within 1 %% and three late wake-ups",
			r.Name, time.Duration(r.Measured), time.Duration(r.True), time.Duration(r.Theory))
	}
}

// wakeups watches the lateness with which this process wakes up. The result returns the median and
// the maximum. A stop may show shorter, by at most one nap.
func wakeups(ctx context.Context) func() (median, most time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	late := make(chan []time.Duration, 1)
	go func() {
		var list []time.Duration
		for {
			const nap = 2 * time.Millisecond
			began := time.Now()
			if !sleep.For(ctx, nap) {
				late <- list
				return
			}
			list = append(list, time.Since(began)-nap)
		}
	}()
	return func() (median, most time.Duration) {
		cancel()
		list := <-late
		if len(list) == 0 {
			return 0, 0
		}
		slices.Sort(list)
		return list[len(list)/2], list[len(list)-1]
	}
}

// piped runs a scenario in this process over pipes, on a fake test clock.
func piped(t *testing.T, s scenario) Comparison {
	t.Helper()
	server := newServer(s.law)
	var clients []database.Client
	var ended []chan struct{}
	for range s.clients {
		ours, theirs := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = server.serve(theirs, func(d time.Duration) error { time.Sleep(d); return nil })
		}()
		clients, ended = append(clients, &client{conn: ours}), append(ended, done)
	}
	recorded, err := s.apply(t.Context(), clients)
	if err := errors.Join(err, database.CloseAll(clients)); err != nil {
		t.Fatalf("apply the load: %v", err)
	}
	for _, done := range ended {
		<-done
	}
	c, err := s.compare(recorded, server.entries)
	if err != nil {
		t.Fatalf("compare with the log: %v", err)
	}
	return c
}

// wantExact fails unless measurements equal the truth within a histogram bucket.
func wantExact(t *testing.T, c Comparison) {
	t.Helper()
	for _, r := range c.Rows {
		if off(r.Measured, r.True) > 0.1 || c.Rate > 0 && r.True != r.Theory {
			t.Errorf("%s: measured %v, true %v, in theory %v, want the same within 0.1 %%", r.Name, time.Duration(r.Measured), time.Duration(r.True), time.Duration(r.Theory))
		}
	}
}

// TestStallTenfold has ten times the duration and the stall in TestStallOverTCP, on a fake clock.
func TestStallTenfold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := piped(t, freeze(100*time.Second, 100))
		if c.N != 10_000 {
			t.Errorf("%d requests, want 10000", c.N)
		}
		wantTheory(t, c)
		wantExact(t, c)
	})
}

// TestQueueIsReplayed has too few clients for the stall: the wait for a client is
// in the response time, and the replay has the same queue.
func TestQueueIsReplayed(t *testing.T) {
	law := Law{Delays: tails(), StallAfter: 5*time.Second + 500*time.Microsecond, StallFor: time.Second}
	synctest.Test(t, func(t *testing.T) {
		open := piped(t, scenario{law: law, clients: 10, rate: 1000, duration: 10 * time.Second})
		wantExact(t, open)
		closed := piped(t, scenario{law: law, clients: 10, duration: 10 * time.Second})
		wantExact(t, closed)
		// At the rate a tenth of the requests met the stall, in the closed loop only ten.
		if got := time.Duration(open.Rows[2].Measured); got < 900*time.Millisecond {
			t.Errorf("response p99 is %v, want at least 900ms after a stall of a second", got)
		}
		if got := time.Duration(closed.Rows[2].Measured); got > 21*time.Millisecond {
			t.Errorf("the closed loop's p99 is %v, want the law's 20ms", got)
		}
	})
}

func TestServersThatFail(t *testing.T) {
	s := freeze(time.Second, 100)
	for name, c := range map[string]struct {
		argv []string
		want string
	}{
		"no such program": {[]string{filepath.Join(t.TempDir(), "none")}, "no such file"},
		"ends at once":    {[]string{"/bin/sh", "-c", "echo out of luck; exit 3"}, "out of luck"},
		"refuses the law": {serverArgv(t), "must sum to 1000, got 0"},
	} {
		if strings.HasPrefix(name, "refuses") {
			s.law.Delays = nil
		}
		if _, err := s.run(t.Context(), c.argv); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestInterrupted(t *testing.T) {
	why := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { cancel(why) })
	started := time.Now()
	_, err := freeze(10*time.Minute, 100).run(ctx, serverArgv(t))
	if took := time.Since(started); !errors.Is(err, why) || took > 5*time.Minute {
		t.Errorf("error %v after %v, want %v before the load's end", err, took, why)
	}
}
