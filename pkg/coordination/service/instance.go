package service

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/ability/discovery"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/sleep"
)

// registration is a session of an instance, with its key.
type registration struct {
	name
	busy sync.Mutex // during a request
	is   database.Session
	next time.Time // of its next renewal
	// begun is before its session was requested.
	begun time.Time

	mu   sync.Mutex // of what follows
	sent time.Time  // of the last renewal that was answered
	// answered is when that was, or when the last one without an answer was given up.
	answered   time.Time
	unanswered bool
	// ended is when the instance died, or when its release was sent; zero while it lives. Dead is
	// which of the two.
	ended time.Time
	dead  bool

	// came and gone are under the lock of Service, nil before the first consumer heard.
	came, gone *heard
}

// over reports whether nobody renews a session any more.
func (r *registration) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.ended.IsZero()
}

// died reports whether the instance died.
func (r *registration) died() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dead
}

// requestTimeout bounds a request for a session, but not a renewal.
const requestTimeout = 10 * time.Second

// register begins a session with its key, and has it renewed.
func (s *Service) register(ctx context.Context, n name) (*registration, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
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
	now := time.Now()
	r := &registration{name: n, begun: now, sent: now}
	var err error
	if r.is, err = s.on.Grant(ctx, s.Plan.TTL); err != nil {
		return nil, err
	}
	r.answered = time.Now()
	return r, nil
}

// attach adds the key of a session, and has the session renewed. A session without its key is ended.
func (s *Service) attach(ctx context.Context, r *registration) error {
	s.mu.Lock()
	s.all[r.name] = r // consumers may hear of it before the answer
	s.mu.Unlock()
	err := r.is.Attach(ctx, []byte(s.key(r.name)), make([]byte, s.ValueSize))
	if err == nil { // so that it is known when the TTL began: attaching renews some sessions
		err = s.renew(ctx, r)
	}
	if err != nil {
		s.mu.Lock()
		delete(s.all, r.name)
		s.mu.Unlock()
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()
		_ = r.is.Release(within) // one that cannot be ended expires
		return err
	}
	r.next = r.sent.Add(s.Plan.Keep)
	s.queue <- r // has room for all
	return nil
}

// keepUp renews sessions in the order in which that is due, which is that of the queue: all have
// the same time between two renewals.
func (s *Service) keepUp(ctx context.Context) {
	for {
		var r *registration
		select {
		case r = <-s.queue:
		case <-ctx.Done():
			return
		}
		if !sleep.For(ctx, time.Until(r.next)) {
			return
		}
		r.busy.Lock()
		if !r.over() {
			at := time.Now()
			if late := at.Sub(r.next); late > s.Plan.TTL/10 {
				s.mu.Lock()
				s.renewals.late++
				s.mu.Unlock()
			}
			err := s.renew(ctx, r)
			if r.next = at.Add(s.Plan.Keep); !errors.Is(err, database.ErrNoSession) {
				s.queue <- r
			}
		}
		r.busy.Unlock()
	}
}

// renew renews a session and notes when.
func (s *Service) renew(ctx context.Context, r *registration) error {
	within, cancel := context.WithTimeout(ctx, max(s.Plan.Keep, time.Second))
	defer cancel()
	sent := time.Now()
	err := r.is.Keep(within)
	answered := time.Now()
	if err != nil && ctx.Err() != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unanswered = err != nil; err == nil {
		r.sent, r.answered = sent, answered
		s.Seen(discovery.ValueKeep, answered, int64(answered.Sub(sent)))
		s.mu.Lock()
		histogram.Record(s.renewals.times, answered.Sub(sent))
		s.renewals.longest = max(s.renewals.longest, answered.Sub(sent))
		s.mu.Unlock()
		return nil
	}
	if !errors.Is(err, database.ErrNoSession) {
		r.answered = answered // members may have renewed it until now
	}
	s.Seen(discovery.ValueKeepLost, answered, 1)
	s.mu.Lock()
	s.renewals.lost++
	s.mu.Unlock()
	return err
}

// perform has an instance die, or deploys it.
func (s *Service) perform(ctx context.Context, a *act) {
	r := a.before
	r.busy.Lock()
	a.sent = time.Now()
	r.mu.Lock()
	r.ended, r.dead = a.sent, a.Kind == discovery.Death
	r.mu.Unlock()
	if a.Kind == discovery.Death {
		r.is.Abandon()
		r.busy.Unlock()
		return
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*requestTimeout)
	defer cancel()
	a.err = r.is.Release(within)
	r.busy.Unlock()
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
