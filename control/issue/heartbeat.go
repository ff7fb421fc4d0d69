package issue

import (
	"context"
	"time"

	"github.com/coreos/dbtester/control/fleet/remote"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/results/clocks"
	"github.com/coreos/dbtester/pkg/workload"
)

// exchanges is the number of clock comparisons before a load and before each step. The exchange
// with the shortest round trip counts.
const exchanges = 16

// compareClocks exchanges time stamps with g, one exchange after the other. Their offset holds
// until the next comparison: over hours clocks drift further apart than the error of one exchange.
func (s *Set) compareClocks(ctx context.Context, g *generator) error {
	var now clocks.Estimate
	for missed := (remote.Misses{}); now.N() < exchanges; {
		e, err := s.heartbeat(ctx, g)
		if err == nil {
			now.Add(e)
		} else if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if lost := missed.Count(err); lost != nil {
			return lost
		}
		if lost := g.lostBy(); lost != nil {
			return lost
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.clock.since = now
	return nil
}

// compareAll compares the clocks of all living generators before a step. A generator that does not
// answer is lost.
func (s *Set) compareAll(ctx context.Context) error {
	return each(s.gens, func(g *generator) error {
		if g.lostBy() != nil {
			return nil
		}
		err := s.compareClocks(ctx, g)
		if err != nil && ctx.Err() == nil {
			s.lose(g.part, err)
			return nil
		}
		return err
	})
}

// beat sends g a heartbeat each second until ctx ends or g is lost.
func (s *Set) beat(ctx context.Context, g *generator) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	remote.Keep(ctx, nil, func(ctx context.Context) error {
		_, err := s.heartbeat(ctx, g)
		if err != nil && g.lostBy() != nil {
			stop()
		}
		return err
	}, func(why error) {
		s.lose(g.part, why)
		stop()
	})
}

// heartbeat renews the lease of g, passes on the lost members, and compares clocks.
func (s *Set) heartbeat(ctx context.Context, g *generator) (clocks.Exchange, error) {
	ctx, cancel := remote.Within(ctx, remote.HeartbeatTimeout)
	defer cancel()
	lost := indexes(s.opts.LostMembers())
	sent := s.unix(time.Now())
	reply, err := g.Client.GeneratorHeartbeat(ctx, &pb.GeneratorHeartbeatRequest{RunId: g.RunID, SentUnixNs: sent, LostMembers: lost})
	if err != nil {
		return clocks.Exchange{}, broken(ctx, err)
	}
	e := clocks.NewExchange(g.index, sent, reply.GetReceivedUnixNs(), reply.GetRepliedUnixNs(), s.unix(time.Now()))
	g.mu.Lock()
	defer g.mu.Unlock()
	g.clock.all.Add(e)
	g.clock.since.Add(e)
	if s.spec.Any(workload.Op.Locks) {
		g.clock.list = append(g.clock.list, e)
	}
	if set := time.Duration(reply.GetClockSetNs()); set.Abs() > g.clock.set.Abs() {
		g.clock.set = set
	}
	return e, nil
}

// unix returns t on the clock of this run, in nanoseconds.
func (s *Set) unix(t time.Time) int64 { return s.base.UnixNano() + int64(t.Sub(s.base)) }

// offset returns the shortest exchange since the last comparison. Its offset is the time by which
// the clock of g is ahead of this run.
func (g *generator) offset() clocks.Exchange {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.clock.since.Best()
}

// moved returns the time by which the clock of g certainly moved since the last comparison.
func (g *generator) moved() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.clock.since.Moved()
}

// roundTrip returns the shortest round trip.
func (g *generator) roundTrip() time.Duration { return max(time.Duration(g.offset().RoundTripNS), 0) }
