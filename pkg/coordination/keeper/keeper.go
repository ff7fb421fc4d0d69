// Package keeper keeps sessions alive during a load: it begins them, names their keys, renews them
// when that is due, and has when each was renewed last.
package keeper

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/sleep"
)

// Options configure a [Keeper].
type Options struct {
	// Most is the largest number of sessions.
	Most int
	// TTL is the session TTL, and Every the time between two renewals of one session.
	TTL, Every time.Duration
	// Workers is the number of concurrent requests for sessions.
	Workers int
	// Renewed records a renewal that was answered, and Lost one that was not or that failed. They are
	// safe for concurrent use.
	Renewed func(at time.Time, took time.Duration)
	Lost    func(at time.Time)
}

// Keeper renews sessions. Its methods are safe for concurrent use.
type Keeper struct {
	Options
	queue chan *Session // by when they are renewed next

	mu     sync.Mutex
	counts Counts
}

// Counts count all renewals.
type Counts struct {
	Times   *hdrhistogram.Histogram // for answered renewals
	Longest time.Duration           // the longest of these
	Lost    int64                   // were not answered, or failed
	Late    int64                   // were sent later than Every by a tenth of the TTL or more
}

// New returns a keeper without sessions.
func New(o Options) *Keeper {
	return &Keeper{Options: o, queue: make(chan *Session, o.Most), counts: Counts{Times: histogram.New()}}
}

// Counts returns the counts, once renewals have ended.
func (k *Keeper) Counts() Counts {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.counts
}

// Each calls do with the numbers below n, as many at a time as there are workers.
func (k *Keeper) Each(n int, do func(int)) {
	var group errgroup.Group
	group.SetLimit(k.Workers)
	for i := range n {
		group.Go(func() error { do(i); return nil })
	}
	_ = group.Wait() // no call has an error
}

// Start renews the sessions from now on, in goroutines of a group, until ctx is over.
func (k *Keeper) Start(ctx context.Context, group *sync.WaitGroup) {
	for range k.Workers {
		group.Go(func() { k.renewAll(ctx) })
	}
}

// Keep renews a session when that is due, until over reports true, or it has ended.
func (k *Keeper) Keep(s *Session, over func() bool) { k.KeepFrom(s, k.Every, over) }

// KeepFrom renews like [Keeper.Keep], with another time until the first renewal, at most Every.
// Sessions that begin together are renewed together, unless these times differ. Among such
// sessions, those with a longer time must come later.
func (k *Keeper) KeepFrom(s *Session, first time.Duration, over func() bool) {
	s.over, s.next, s.due = over, s.Sent.Add(first), s.Sent.Add(k.Every)
	k.queue <- s // has room for all
}

// renewAll renews sessions in the order of the queue, which is that of their next renewals, because
// all have the same time between two. A session with a shorter first time may come after one that
// is due earlier, but within Every.
func (k *Keeper) renewAll(ctx context.Context) {
	for {
		var s *Session
		select {
		case s = <-k.queue:
		case <-ctx.Done():
			return
		}
		if !sleep.For(ctx, time.Until(s.next)) {
			return
		}
		s.Busy.Lock()
		if !s.over() {
			at := time.Now()
			if late := at.Sub(s.due); late > k.TTL/10 {
				k.mu.Lock()
				k.counts.Late++
				k.mu.Unlock()
			}
			err := k.Renew(ctx, s)
			s.next = at.Add(k.Every)
			if s.due = s.next; !errors.Is(err, database.ErrNoSession) {
				k.queue <- s
			}
		}
		s.Busy.Unlock()
	}
}

// Renew renews a session and notes when.
func (k *Keeper) Renew(ctx context.Context, s *Session) error {
	within, cancel := context.WithTimeout(ctx, max(k.Every, time.Second))
	defer cancel()
	sent := time.Now()
	err := s.Is.Keep(within)
	answered := time.Now()
	if err != nil && ctx.Err() != nil {
		return err
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.Unanswered = err != nil; err == nil {
		if answered.Sub(s.Sent) > k.TTL/2 {
			s.gaps = append(s.gaps, gap{s.Sent, answered})
		}
		s.Sent, s.Answered = sent, answered
		took := answered.Sub(sent)
		k.Renewed(answered, took)
		k.mu.Lock()
		histogram.Record(k.counts.Times, took)
		k.counts.Longest = max(k.counts.Longest, took)
		k.mu.Unlock()
		return nil
	}
	if !errors.Is(err, database.ErrNoSession) {
		s.Answered = answered // members may have renewed it until now
	}
	k.Lost(answered)
	k.mu.Lock()
	k.counts.Lost++
	k.mu.Unlock()
	return err
}
