package issue

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// drift moves the clock of the generator.
func (g *scripted) drift(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ahead += d
}

// TestDrift: a clock that has drifted since the shortest exchange is compared again before each
// step, and its moves during a step are recorded.
func TestDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const drift, jump = 300 * time.Millisecond, 50 * time.Millisecond
		// The first exchanges are by far the shortest.
		g := &scripted{trips: append(equalTrips(exchanges, time.Millisecond), 10*time.Millisecond), set: -time.Second}
		g.run = issue(3)
		f := begin(t, g)
		defer f.close(t)
		if _, _, err := f.step(t.Context(), 0); err != nil || g.ran.GetOffsetNs() != 0 {
			t.Fatalf("step 1: error %v, offset %d, want none", err, g.ran.GetOffsetNs())
		}
		g.drift(drift)
		g.run = func(ctx context.Context, req *pb.RunRequest, send func(*pb.RunResponse)) error {
			g.drift(jump)
			return issue(3)(ctx, req, send)
		}
		if _, _, err := f.step(t.Context(), 1); err != nil || g.ran.GetOffsetNs() != int64(drift) {
			t.Errorf("step 2: error %v, offset %v; want the %v of now, not that of the shortest exchange", err, time.Duration(g.ran.GetOffsetNs()), drift)
		}
		r := f.set.Records()[0]
		first, second := r.Steps[0], r.Steps[1]
		if first.ClockMovedNS != 0 || first.ClockErrorNS != int64(5*time.Millisecond) {
			t.Errorf("step 1 has the clock %+v, want one that is known to 5ms and did not move", first)
		}
		// Each error is 5 ms, and there are two.
		if second.ClockOffsetNS != int64(drift) || second.ClockMovedNS != int64(jump-10*time.Millisecond) {
			t.Errorf("step 2 has the clock %+v, want an offset of %v, and that it surely moved by 40ms", second, drift)
		}
		if r.ClockSet != -time.Second || r.Clock.Error != 500*time.Microsecond || r.Clock.Offset != 0 {
			t.Errorf("clock %+v, set by %v; want the shortest exchange, and by how much the wall clock was set", r.Clock, r.ClockSet)
		}
	})
}

// equalTrips returns n equal round trips.
func equalTrips(n int, trip time.Duration) (list []time.Duration) {
	for range n {
		list = append(list, trip)
	}
	return list
}

// TestSilentBeforeStep: a generator whose clock cannot be compared before a step is lost,
// and the other has the step to itself.
func TestSilentBeforeStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &scripted{run: issue(2)}, &scripted{run: func(context.Context, *pb.RunRequest, func(*pb.RunResponse)) error {
			return status.Error(codes.Internal, "it runs without a comparison of clocks")
		}}
		f := begin(t, a, b)
		defer f.close(t)
		b.silence()
		_, _, err := f.step(t.Context(), 0)
		lost := f.set.Records()[1].Lost
		if n, shed := f.out.sum(); err != nil || n != 2 || shed != 2 || !strings.HasPrefix(lost, "3 heartbeats in a row failed") || b.ran != nil {
			t.Errorf("error %v, %d seconds with %d requests, lost %q, asked to run %v; want the step of the other", err, n, shed, lost, b.ran)
		}
	})
}
