package fleet

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/control/fleet/fleettest"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/clocks"
)

func TestClock(t *testing.T) {
	t.Parallel()
	base := time.Unix(1_700_000_000, 0)
	const ms = time.Millisecond
	type exchange struct{ sent, received, replied, back time.Duration } // sent and back by our clock
	for _, tc := range []struct {
		name      string
		exchanges []exchange
		want      results.Clock
	}{
		{"the same clock", []exchange{{0, 5 * ms, 6 * ms, 11 * ms}}, results.Clock{Offset: 0, Error: 5 * ms, N: 1}},
		{"an agent ahead", []exchange{{0, 1005 * ms, 1006 * ms, 11 * ms}}, results.Clock{Offset: time.Second, Error: 5 * ms, N: 1, Furthest: time.Second - 5*ms}},
		{"an agent behind", []exchange{{0, -995 * ms, -994 * ms, 11 * ms}}, results.Clock{Offset: -time.Second, Error: 5 * ms, N: 1, Furthest: time.Second - 5*ms}},
		{"one way is slower", []exchange{{0, 10 * ms, 10 * ms, 10 * ms}}, results.Clock{Offset: 5 * ms, Error: 5 * ms, N: 1}},
		{
			"the shortest trip counts",
			[]exchange{{0, 10 * ms, 10 * ms, 10 * ms}, {1000 * ms, 1002 * ms, 1003 * ms, 1004 * ms}, {2000 * ms, 2009 * ms, 2009 * ms, 2009 * ms}},
			results.Clock{Offset: ms / 2, Error: 3 * ms / 2, N: 3},
		},
		{"no time at all", []exchange{{0, 0, 0, 0}, {0, 0, 2 * ms, ms}}, results.Clock{N: 2}},
		{
			"a clock that was set", []exchange{{0, 2 * ms, 2 * ms, 4 * ms}, {1000 * ms, 1102 * ms, 1102 * ms, 1004 * ms}},
			results.Clock{Error: 2 * ms, N: 2, Moved: 96 * ms, Furthest: 98 * ms},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var stamps []clocks.Exchange
			f := New(Options{Agents: make([]string, 2), Clock: func(e clocks.Exchange) { stamps = append(stamps, e) }})
			for _, e := range tc.exchanges {
				f.clock(1, base.Add(e.sent), base.Add(e.back), &pb.HeartbeatResponse{
					ReceivedUnixNs: base.Add(e.received).UnixNano(), RepliedUnixNs: base.Add(e.replied).UnixNano(),
				})
			}
			if diff := cmp.Diff([]results.Clock{{}, tc.want}, f.Clocks()); diff != "" {
				t.Errorf("clocks (-want +got):\n%s", diff)
			}
			last := tc.exchanges[len(tc.exchanges)-1]
			if len(stamps) != len(tc.exchanges) || stamps[len(stamps)-1].Member != 1 || stamps[len(stamps)-1].UnixNano != base.Add(last.back).UnixNano() {
				t.Errorf("every exchange must be recorded, got %+v", stamps)
			}
		})
	}
}

// beats returns a fleet that sends heartbeats to one agent until stop is called.
func beats(t *testing.T, tap *fleettest.Agent) (f *Fleet, stop func()) {
	f = scripted(tap)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Heartbeats(ctx)
	}()
	return f, func() {
		cancel()
		<-done
	}
}

func TestHeartbeatLoss(t *testing.T) {
	t.Parallel()
	alive := answers("run").OnBeat
	for _, tc := range []struct {
		name string
		beat func(context.Context, *pb.HeartbeatRequest) (*pb.HeartbeatResponse, error)
		// watch is when the member is known to run.
		watch time.Duration
		want  string
		by    time.Duration // the second in which it is known
	}{
		{name: "alive", beat: alive},
		{name: "two missed, not three", beat: from(2, 4, func() error { return errGone }, alive)},
		{
			name: "three missed", beat: from(2, 100, func() error { return errGone }, alive),
			want: "3 heartbeats in a row failed: agent agent-1: gone", by: 4 * time.Second,
		},
		{
			name: "missed before it ran", watch: 10 * time.Second, beat: from(0, 100, func() error { return errGone }, alive),
			want: "12 heartbeats in a row failed: agent agent-1: gone", by: 11 * time.Second,
		},
		{
			name: "hung", beat: hung[*pb.HeartbeatRequest, *pb.HeartbeatResponse],
			want: "3 heartbeats in a row failed: agent agent-1: no answer within 5s", by: 15 * time.Second,
		},
		{
			name: "stopping", want: "it ended by itself\ndb: exit 3", by: time.Second,
			beat: func(context.Context, *pb.HeartbeatRequest) (*pb.HeartbeatResponse, error) {
				return &pb.HeartbeatResponse{State: pb.State_STATE_STOPPING, Reason: "child died", Children: []*pb.Child{{Name: "db", Exit: "exit 3"}}}, nil
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, stop := beats(t, &fleettest.Agent{OnBeat: tc.beat})
				defer stop()
				lost := func() string {
					synctest.Wait()
					return f.opts.Losses.Reasons()[0]
				}
				began, known := time.Now(), time.Duration(0)
				time.Sleep(tc.watch + time.Second/2)
				f.Watch()
				for range 30 {
					time.Sleep(time.Second)
					if known == 0 && lost() != "" {
						known = time.Since(began).Truncate(time.Second)
					}
				}
				if known != tc.by {
					t.Errorf("known after %v, want %v", known, tc.by)
				}
				if got := lost(); got != tc.want {
					t.Errorf("lost: %q, want %q", got, tc.want)
				}
			})
		})
	}
}

// from fails the beats with numbers from first to last, counted from 0.
func from(first, last int64, fail func() error, beat func(context.Context, *pb.HeartbeatRequest) (*pb.HeartbeatResponse, error),
) func(context.Context, *pb.HeartbeatRequest) (*pb.HeartbeatResponse, error) {
	var n atomic.Int64
	return func(ctx context.Context, req *pb.HeartbeatRequest) (*pb.HeartbeatResponse, error) {
		if i := n.Add(1) - 1; first <= i && i < last {
			return nil, fail()
		}
		return beat(ctx, req)
	}
}

// A new client count is sent at once, not with the heartbeat in the next second.
func TestHeartbeatClients(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []int32
		var at []time.Duration
		began := time.Now()
		alive := answers("run").OnBeat
		f, stop := beats(t, &fleettest.Agent{OnBeat: func(ctx context.Context, req *pb.HeartbeatRequest) (*pb.HeartbeatResponse, error) {
			told, at = append(told, req.Clients), append(at, time.Since(began))
			return alive(ctx, req)
		}})
		time.Sleep(1300 * time.Millisecond)
		f.SetClients(70)
		time.Sleep(time.Second)
		stop()
		if diff := cmp.Diff([]int32{1, 1, 70, 70}, told); diff != "" {
			t.Errorf("told: %s", diff)
		}
		want := []time.Duration{0, time.Second, 1300 * time.Millisecond, 2 * time.Second}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Errorf("told at: %s", diff)
		}
		if clock := f.Clocks()[0]; clock.N != 4 {
			t.Errorf("the clock is estimated from %d heartbeats, want 4", clock.N)
		}
	})
}

// Heartbeats that are in flight when the run ends are awaited.
func TestHeartbeatEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got error
		f, stop := beats(t, &fleettest.Agent{OnBeat: func(ctx context.Context, _ *pb.HeartbeatRequest) (*pb.HeartbeatResponse, error) {
			<-ctx.Done()
			got = context.Cause(ctx)
			return nil, got
		}})
		time.Sleep(time.Second)
		stop()
		if !errors.Is(got, context.Canceled) || f.Clocks()[0].N != 0 {
			t.Errorf("the last heartbeat ended with %v and %d were answered, want %v and none", got, f.Clocks()[0].N, context.Canceled)
		}
	})
}

// Samples are requested if a function receives them. An invalid sample is dropped.
func TestHeartbeatSamples(t *testing.T) {
	t.Parallel()
	sample := results.Sample{UnixNano: 7, PeriodNS: -1, Values: metric.SystemValues(map[metric.Name]float64{metric.Threads: 3})}
	for _, tc := range []struct {
		name   string
		answer []byte
		take   bool
		want   float64
	}{
		{"nobody takes them", results.FormatSample(&sample), false, 0},
		{"a sample", results.FormatSample(&sample), true, 3},
		{"none yet", nil, true, 0},
		{"not understood", []byte("what\n"), true, 0},
	} {
		var asked bool
		var got float64
		alive := answers("run").OnBeat
		f := scripted(&fleettest.Agent{OnBeat: func(ctx context.Context, req *pb.HeartbeatRequest) (*pb.HeartbeatResponse, error) {
			asked = req.GetSample()
			r, err := alive(ctx, req)
			r.Sample = tc.answer
			return r, err
		}})
		if tc.take {
			f.opts.Sample = func(member int, s results.Sample) { got = float64(member) + s.Get(metric.Threads) }
		}
		f.Beat(t.Context(), 0)
		if asked != tc.take || got != tc.want {
			t.Errorf("%s: asked %v, got %v; want %v and %v", tc.name, asked, got, tc.take, tc.want)
		}
	}
}
