package issue

import (
	"context"
	"sync"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
)

// FailBack has connections of the running step that failed over go back to their first members, in
// all parts not lost. It may be called while Step runs.
func (s *Set) FailBack(ctx context.Context) (all load.FailedBack, err error) {
	var mu sync.Mutex
	err = each(s.parts, func(p *part) error {
		if p.lostBy() != nil {
			return nil
		}
		back, err := p.issuer.failBack(ctx)
		mu.Lock()
		defer mu.Unlock()
		all.Add(back)
		return err
	})
	return all, err
}

func (g *generator) failBack(ctx context.Context) (load.FailedBack, error) {
	reply, err := g.Client.FailBack(ctx, &pb.FailBackRequest{RunId: g.RunID})
	if err != nil {
		return load.FailedBack{}, g.Failed(ctx, err)
	}
	return load.FailedBack{Returned: int(reply.GetReturned()), Away: int(reply.GetAway())}, nil
}
