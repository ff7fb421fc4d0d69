package service

import (
	"cmp"
	"context"
	"time"

	"github.com/coreos/dbtester/pkg/ability/discovery"
	"github.com/coreos/dbtester/pkg/coordination/keeper"
)

// over reports whether a session is no longer renewed.
func (r *registration) over() bool {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return !r.ended.IsZero()
}

// died reports whether the instance died.
func (r *registration) died() bool {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.dead
}

// register begins a session with its key, and has it renewed.
func (s *Service) register(ctx context.Context, n name) (*registration, error) {
	ctx, cancel := context.WithTimeout(ctx, keeper.RequestTimeout)
	defer cancel()
	r, err := s.grant(ctx, n)
	if err == nil {
		err = s.attach(ctx, r)
	}
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.why = cmp.Or(s.why, err)
		return nil, err
	}
	return r, nil
}

// grant begins a session.
func (s *Service) grant(ctx context.Context, n name) (*registration, error) {
	r := &registration{name: n, begun: time.Now()}
	if err := r.Grant(ctx, s.on, s.Plan.TTL); err != nil {
		return nil, err
	}
	return r, nil
}

// attach adds the key of a session, and has the session renewed. A session without its key is
// ended.
func (s *Service) attach(ctx context.Context, r *registration) error {
	s.mu.Lock()
	s.all[r.name] = r // consumers may receive it before the answer
	s.mu.Unlock()
	err := r.Is.Attach(ctx, []byte(s.Keys.Of(r.instance, r.generation)), make([]byte, s.ValueSize))
	if err == nil { // so that it is known when the TTL began: attaching renews some sessions
		err = s.keeper.Renew(ctx, &r.Session)
	}
	if err != nil {
		s.mu.Lock()
		delete(s.all, r.name)
		s.mu.Unlock()
		r.Discard(ctx)
		return err
	}
	s.keeper.KeepFrom(&r.Session, s.first(r.name), r.over)
	return nil
}

// first returns the time until the first renewal of a registration. Instances on separate machines
// do not register at the same moment, so those registered before the load are spread over the time
// between two renewals.
func (s *Service) first(n name) time.Duration {
	if n.generation > 0 || n.instance >= s.Plan.Instances {
		return s.Plan.Keep
	}
	return time.Duration(float64(s.Plan.Keep) * float64(n.instance+1) / float64(s.Plan.Instances))
}

// perform has an instance die, or deploys it.
func (s *Service) perform(ctx context.Context, a *act) {
	r := a.before
	r.Busy.Lock()
	a.sent = time.Now()
	r.Mu.Lock()
	r.ended, r.dead = a.sent, a.Kind != discovery.Deploy
	r.Mu.Unlock()
	if r.dead {
		r.Is.Abandon()
		r.Busy.Unlock()
		return
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*keeper.RequestTimeout)
	defer cancel()
	a.err = r.Is.Release(within)
	r.Busy.Unlock()
	var next *registration
	if a.err == nil {
		next, a.err = s.grant(within, name{r.instance, r.generation + 1})
	}
	if a.err != nil {
		return
	}
	a.again = time.Now()
	if a.err = s.attach(within, next); a.err == nil {
		a.after = next
	}
}
