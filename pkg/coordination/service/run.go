package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/ability/discovery"
	"github.com/coreos/dbtester/pkg/coordination/keeper"
	"github.com/coreos/dbtester/pkg/load/clock"
	"github.com/coreos/dbtester/pkg/load/stops"
	"github.com/coreos/dbtester/pkg/sleep"
)

// New returns a service without instances.
func New(o Options) *Service {
	s := &Service{Options: o, clock: clock.New(), all: map[name]*registration{}, news: make(chan struct{}, 1), elections: elections{elected: make(chan struct{}, 1)}}
	s.stops = stops.New(s.clock)
	s.keeper = keeper.New(keeper.Options{
		Most: o.Plan.Instances + o.Plan.Deploys + 1, TTL: o.Plan.TTL, Every: o.Plan.Keep, Workers: max(min(o.Workers, o.Plan.Instances), 1),
		Renewed: func(at time.Time, took time.Duration) { s.Seen(discovery.ValueKeep, at, int64(took)) },
		Lost:    func(at time.Time) { s.Seen(discovery.ValueKeepLost, at, 1) },
	})
	return s
}

// Register registers the instances, and renews their sessions until End. It returns the first
// error if no instance was registered.
func (s *Service) Register(ctx context.Context) (err error) {
	if s.on, err = s.Dial(ctx, 0); err != nil {
		return fmt.Errorf("dial for instances: %w", err)
	}
	keeping := s.keeping.begin(ctx)
	s.keeping.Go(func() { s.stops.Watch(keeping, func(int64) {}) })
	s.keeper.Start(keeping, &s.keeping.WaitGroup)
	start := time.Now()
	s.keeper.Each(s.Plan.Instances, func(i int) {
		if ctx.Err() == nil {
			_, _ = s.register(ctx, name{instance: i}) // the first error is kept
		}
	})
	s.took = time.Since(start)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) == 0 {
		return fmt.Errorf("register %d instances: %w", s.Plan.Instances, cmp.Or(s.why, context.Cause(ctx), errors.New("none was registered")))
	}
	return nil
}

// Follow has the consumers watch the instances, and the instances elect a leader if the plan has
// elections. It returns the errors from all that fail.
func (s *Service) Follow(ctx context.Context) error {
	watching := s.watching.begin(ctx)
	for n := range s.Plan.Consumers {
		s.consumers = append(s.consumers, &consumer{follower: newFollower(s, 1+n, fmt.Sprintf("consumer %d", n), "watch instances"), n: n})
	}
	errs := make([]error, len(s.consumers))
	s.keeper.Each(len(s.consumers), func(n int) {
		c := s.consumers[n]
		errs[n] = c.begin(ctx, watching, &s.watching, c.changed)
	})
	if err := errors.Join(errs...); err != nil || s.Plan.Elections == 0 {
		return err
	}
	return s.elect(ctx)
}

// Run has instances die and be deployed when that is due. It returns when all this has happened,
// known or not, or ctx is over.
func (s *Service) Run(ctx context.Context) error {
	s.began = time.Now()
	var running sync.WaitGroup
	defer running.Wait()
	for _, one := range s.Plan.Acts(s.Seed) {
		if !sleep.For(ctx, time.Until(s.began.Add(one.At))) {
			return nil
		}
		a := &act{Act: one}
		switch s.choose(a); {
		case a.err != nil:
			s.acts = append(s.acts, a)
		case a.before != nil:
			s.acts = append(s.acts, a)
			running.Go(func() { s.perform(ctx, a) })
		}
	}
	return nil
}

// choose sets the instance to which an act happens, nil if it was not registered. An election without a
// leader that could die has failed then.
func (s *Service) choose(a *act) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.Kind != discovery.Election {
		a.before = s.all[name{instance: a.Instance}]
		return
	}
	if a.term, a.before = s.elections.incumbent(); a.before == nil {
		a.sent, a.err = time.Now(), errNoLeader
		return
	}
	a.Instance = a.before.instance
}

// endTimeout bounds the wait for changes that consumers must still receive after the load, and
// ending all sessions.
const endTimeout = time.Minute

// End waits until the consumers have received all that happened, as far as they do, and ends the
// sessions that are left, also after ctx is over.
func (s *Service) End(ctx context.Context) {
	if s.on == nil {
		return
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	s.endElections()
	if s.end.behind = context.Cause(ctx); s.end.behind == nil && len(s.consumers) > 0 {
		s.end.behind = s.barrier(within)
	}
	s.watching.end()
	s.keeping.end()
	s.release(within)
	s.keeper.Each(len(s.elections.contenders), func(n int) { s.elections.contenders[n].close() })
	s.keeper.Each(len(s.consumers), func(n int) { s.consumers[n].close() })
	_ = s.on.Close()
}

// release ends the sessions that are left.
func (s *Service) release(ctx context.Context) {
	s.mu.Lock()
	var list []*registration
	for _, r := range s.all {
		list = append(list, r)
	}
	s.mu.Unlock()
	s.keeper.Each(len(list), func(i int) {
		r := list[i]
		if r.gone != nil && r.died() && !s.Facts.Remains {
			return // it has ended, and its holder was abandoned
		}
		if err := r.Is.Release(ctx); err != nil && r.gone == nil {
			s.mu.Lock()
			s.end.left, s.end.why = s.end.left+1, cmp.Or(s.end.why, err)
			s.mu.Unlock()
		}
	})
}

// barrier registers another instance, and waits until all consumers know it. Consumers receive
// changes in order, so they have then received all earlier ones.
func (s *Service) barrier(ctx context.Context) (err error) {
	if s.marker, err = s.register(ctx, s.markerName()); err != nil {
		return fmt.Errorf("register an instance after the load: %w", err)
	}
	for {
		waits := slices.IndexFunc(s.consumers, func(c *consumer) bool { return !c.ended() && !c.knows(s.marker) })
		if waits < 0 {
			return nil
		}
		select {
		case <-s.news:
		case <-ctx.Done():
			return fmt.Errorf("consumer %d has not heard of an instance that was registered after the load: %w", waits, context.Cause(ctx))
		}
	}
}
