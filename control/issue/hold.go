package issue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/control/fleet/remote"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/coordination/session"
)

// The time that a generator may take for its share of the sessions held during a load.
const (
	grantTimeout = 10 * time.Minute
	endTimeout   = 2 * time.Minute
)

// Number returns the number of generators that issue the load, 0 if this process does.
func (s *Set) Number() int { return len(s.gens) }

// GrantSessions has each generator begin its share of the sessions that are held during the load,
// by their plans, ordered by part. A generator whose plan has no sessions is not called.
func (s *Set) GrantSessions(ctx context.Context, plans []session.Plan, valueSize, workers int) error {
	ctx, cancel := remote.Within(ctx, grantTimeout)
	defer cancel()
	return each(s.gens, func(g *generator) error {
		if g.holds = plans[g.index].Held > 0; !g.holds {
			return nil
		}
		plan, err := json.Marshal(plans[g.index])
		if err != nil {
			return fmt.Errorf("encode the plan of sessions: %w", err)
		}
		_, err = g.Client.GrantSessions(ctx, &pb.GrantSessionsRequest{
			RunId: g.RunID, Plan: plan, ValueSize: int32(valueSize), Workers: int32(max(workers/len(s.gens), 1)), OffsetNs: g.offset().OffsetNS,
		})
		if err != nil {
			return g.Failed(ctx, err)
		}
		return nil
	})
}

// HoldSessions lets the holders in all generators die, and returns when that is over for all or
// when ctx ends. Lost generators are waited for no longer.
func (s *Set) HoldSessions(ctx context.Context) error {
	return each(s.gens, func(g *generator) error {
		_, err := g.Client.HoldSessions(ctx, &pb.HoldSessionsRequest{RunId: g.RunID})
		if err == nil || ctx.Err() != nil || g.lostBy() != nil {
			return nil
		}
		return g.Failed(ctx, err)
	})
}

// EndSessions ends the remaining sessions, and returns the record from each generator.
func (s *Set) EndSessions(ctx context.Context) []session.Remote {
	ctx, cancel := remote.Within(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	parts := make([]session.Remote, len(s.gens))
	_ = each(s.gens, func(g *generator) error {
		p := &parts[g.index]
		p.Machine, p.ClockError = "generator "+g.Addr, time.Duration(g.offset().ErrorNS)
		if !g.holds {
			return nil
		}
		if p.Lost = g.lostBy(); p.Lost != nil {
			return nil
		}
		reply, err := g.Client.EndSessions(ctx, &pb.EndSessionsRequest{RunId: g.RunID})
		switch {
		case err != nil:
			p.Lost = broken(ctx, err)
		case len(reply.GetPart()) == 0:
			p.Lost = errors.New("it holds no sessions")
		default:
			p.Lost = p.Decode(reply.GetPart(), reply.GetSeconds())
		}
		return nil
	})
	return parts
}
