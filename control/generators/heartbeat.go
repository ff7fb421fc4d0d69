package generators

import (
	"context"
	"fmt"
	"time"

	"github.com/coreos/dbtester/control/fleet"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/clocks"
)

const (
	// exchanges is how often the clocks are compared before a load. The exchange with the
	// shortest round trip counts.
	exchanges        = 16
	heartbeatEvery   = time.Second
	heartbeatTimeout = 5 * heartbeatEvery
	// heartbeatsMissed is how many heartbeats in a row must fail for the generator to be
	// lost.
	heartbeatsMissed = 3
)

// compareClocks sends a generator heartbeats one after the other.
func (s *Set) compareClocks(ctx context.Context, g *generator) error {
	for range exchanges {
		if err := s.heartbeat(ctx, g); err != nil {
			return fmt.Errorf("generator %s: compare clocks: %w", g.addr, err)
		}
	}
	return nil
}

// beat sends a generator a heartbeat each second until ctx ends or the generator is lost.
func (s *Set) beat(ctx context.Context, g *generator) {
	ticker := time.NewTicker(heartbeatEvery)
	defer ticker.Stop()
	missed := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := s.heartbeat(ctx, g)
		switch {
		case err == nil:
			missed = 0
		case ctx.Err() != nil || g.lostBy() != nil:
			return
		default:
			if missed++; missed >= heartbeatsMissed {
				s.lose(g, fmt.Errorf("%d heartbeats in a row failed: %w", missed, err))
				return
			}
		}
	}
}

// heartbeat renews a generator's lease, passes on the lost members, and compares clocks.
// This machine's clock may be set meanwhile, so the time of the answer is computed from
// that of the request.
func (s *Set) heartbeat(ctx context.Context, g *generator) error {
	ctx, cancel := fleet.Within(ctx, heartbeatTimeout)
	defer cancel()
	lost := indexes(s.opts.LostMembers())
	sent := time.Now()
	reply, err := g.client.GeneratorHeartbeat(ctx, &pb.GeneratorHeartbeatRequest{RunId: g.runID, SentUnixNs: sent.UnixNano(), LostMembers: lost})
	if err != nil {
		return broken(ctx, err)
	}
	at := sent.UnixNano()
	e := clocks.NewExchange(g.index, at, reply.GetReceivedUnixNs(), reply.GetRepliedUnixNs(), at+int64(time.Since(sent)))
	g.mu.Lock()
	defer g.mu.Unlock()
	g.clock.Add(e)
	return nil
}

// offset is how far the generator's clock is ahead of this machine's, by the shortest
// round trip so far.
func (g *generator) offset() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.clock.Best().OffsetNS
}

// roundTrip is the shortest one.
func (g *generator) roundTrip() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(time.Duration(g.clock.Best().RoundTripNS), 0)
}
