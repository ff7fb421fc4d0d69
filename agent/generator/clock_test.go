package generator

import (
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/load/merge"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestWallClockIsSet: setting the wall clock of a generator moves neither the start of a step nor
// its seconds, and control learns of it.
func TestWallClockIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ahead, set = time.Minute, -time.Hour
		var jump atomic.Int64
		s := newStore()
		o := allowed(s)
		o.wall = func(now time.Time) time.Time { return now.Round(0).Add(ahead + time.Duration(jump.Load())) }
		c := serve(t, o)
		mustPrepare(t, c, prepare(t, "run1", writes(), 0, 1))
		beat := func() (offset, moved time.Duration) {
			r, err := c.GeneratorHeartbeat(t.Context(), &pb.GeneratorHeartbeatRequest{RunId: "run1"})
			if err != nil {
				t.Fatalf("heartbeat: %v", err)
			}
			return time.Unix(0, r.GetRepliedUnixNs()).Sub(time.Now().Round(0)), time.Duration(r.GetClockSetNs())
		}
		out := &counts{}
		merger := merge.New(out, merge.Options{Operations: []workload.Op{workload.OpWrite}, Generators: []string{"one"}})
		previous := int64(0)
		for n := range 2 { // before the wall clock is set, and after
			offset, moved := beat()
			if want := time.Duration(jump.Load()); offset != ahead || moved != want {
				t.Errorf("step %d: the clock is ahead by %v and was set by %v, want %v and %v", n+1, offset, moved, ahead, want)
			}
			step := load.Step{Index: n, Step: workload.Step{Clients: 2, Connections: 2, Rate: 10, Requests: 40}}
			start := time.Now().Add(3 * time.Second) // control's clock is the right one
			ends := run(t, []pb.GeneratorClient{c}, merger, step, &pb.RunRequest{
				RunId: "run1", Step: int32(n), StartUnixNs: start.UnixNano(), OffsetNs: int64(offset), PreviousRequests: previous,
			})
			checkStart(t, ends[0], start)
			previous = ends[0].Result.Requests
			jump.Store(int64(set))
		}
		seconds := map[int64]bool{}
		for _, r := range out.rows {
			seconds[r.Second] = true
		}
		for sec := range seconds {
			if d := time.Since(time.Unix(sec, 0)); d < 0 || d > time.Minute {
				t.Errorf("a second of the records lies %v back, want one of control's clock", d)
			}
		}
	})
}

// checkStart checks when a step began and when it first sent.
func checkStart(t *testing.T, e issuer.End, start time.Time) {
	t.Helper()
	if e.Error != "" || !e.Result.Start.Equal(start.Round(0)) || e.FirstSent < 0 || e.FirstSent > time.Millisecond {
		t.Errorf("the step began at %v and sent %v later, error %q; want %v, and at once", e.Result.Start, e.FirstSent, e.Error, start)
	}
}

// TestImpossibleClock: a clock or a start that is lifetimes away is refused. The seconds of such a
// load would wrap around, and the generator would write all seconds between them.
func TestImpossibleClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, allowed(newStore()))
		mustPrepare(t, c, prepare(t, "run1", writes(), 0, 1))
		soon := time.Now().Add(3 * time.Second).UnixNano()
		for _, req := range []*pb.RunRequest{
			{RunId: "run1", StartUnixNs: soon, OffsetNs: math.MinInt64},
			{RunId: "run1", StartUnixNs: soon, OffsetNs: math.MaxInt64},
			{RunId: "run1", StartUnixNs: math.MinInt64},
			{RunId: "run1", StartUnixNs: math.MaxInt64},
		} {
			mustConnect(t, c, "run1", message(load.Step{Step: workload.Step{Clients: 2, Connections: 2, Rate: 10, Requests: 40}}))
			stream, err := c.Run(t.Context(), req)
			if err == nil {
				_, err = stream.Recv()
			}
			wantCode(t, err, codes.FailedPrecondition)
		}
	})
}
