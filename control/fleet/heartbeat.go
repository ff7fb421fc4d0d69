package fleet

import (
	"context"
	"sync"
	"time"

	"github.com/coreos/dbtester/control/fleet/remote"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/clocks"
)

// Heartbeats sends every agent a heartbeat each second until ctx ends. Heartbeats renew the leases,
// carry the client count, estimate the agents' clocks, and notice lost members.
func (f *Fleet) Heartbeats(ctx context.Context) {
	var wg sync.WaitGroup
	for _, s := range f.sessions {
		wg.Go(func() { f.beat(ctx, s) })
	}
	wg.Wait()
}

// Clients returns the client count that heartbeats carry.
func (f *Fleet) Clients() int64 { return f.clients.Load() }

// SetClients sends all agents a new client count at once.
func (f *Fleet) SetClients(n int) {
	f.clients.Store(int64(n))
	for _, s := range f.sessions {
		s.hurry()
	}
}

// Watch declares that all members run: a member that ends between now and Stop is lost.
func (f *Fleet) Watch() { f.watching.Store(true) }

// Unwatch ends Watch, for members that are left running.
func (f *Fleet) Unwatch() { f.watching.Store(false) }

// Clocks returns the clock offset of each agent as the heartbeats measured it, by member; N is 0
// for agents that never answered.
func (f *Fleet) Clocks() []results.Clock {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]results.Clock, len(f.clocks))
	for i := range f.clocks {
		list[i] = remote.ClockOf(&f.clocks[i])
	}
	return list
}

// Beat sends a heartbeat to the agent of one member now, which may have news. Errors are ignored.
func (f *Fleet) Beat(ctx context.Context, member int) {
	if member < len(f.sessions) {
		_ = f.beatOnce(ctx, f.sessions[member])
	}
}

// beat sends one agent its heartbeats until ctx ends, the first at once.
func (f *Fleet) beat(ctx context.Context, s *session) {
	s.hurry()
	remote.Keep(ctx, s.nudge, func(ctx context.Context) error { return f.beatOnce(ctx, s) }, func(why error) {
		if f.watching.Load() {
			f.opts.Losses.Add(s.index, why.Error())
		}
	})
}

func (f *Fleet) beatOnce(ctx context.Context, s *session) error {
	ctx, cancel := remote.Within(ctx, remote.HeartbeatTimeout)
	defer cancel()
	sent := time.Now()
	reply, err := s.Client.Heartbeat(ctx, &pb.HeartbeatRequest{
		RunId: s.RunID, Clients: int32(f.clients.Load()), SentUnixNs: sent.UnixNano(), Sample: f.opts.Sample != nil,
	})
	if err != nil {
		return s.Failed(ctx, err)
	}
	f.clock(s.index, sent, time.Now(), reply)
	if sample, err := results.ParseSample(reply.Sample); err == nil && f.opts.Sample != nil {
		f.opts.Sample(s.index, sample)
	}
	// An agent whose member dies keeps its last lines and then stops the session.
	switch reply.State {
	case pb.State_STATE_STOPPING, pb.State_STATE_STOPPED:
		if f.watching.Load() {
			f.opts.Losses.Add(s.index, obituary(endOf(reply.Reason, reply.Children), reply.Children))
		}
	}
	return nil
}

// clock records the time stamps from one exchange. The client clock may be set meanwhile, so the
// time of the answer is computed from the time of the request.
func (f *Fleet) clock(member int, sent, received time.Time, r *pb.HeartbeatResponse) {
	at := sent.UnixNano()
	e := clocks.NewExchange(member, at, r.ReceivedUnixNs, r.RepliedUnixNs, at+int64(received.Sub(sent)))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clocks[member].Add(e)
	f.opts.Clock(e)
}
