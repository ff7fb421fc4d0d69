package etcd

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
)

// leaseRenewals renews leases over one shared stream. It opens the stream with the first renewal,
// and reopens it after a failure. It is safe for concurrent use.
type leaseRenewals struct {
	open opener
	ctx  context.Context // for the streams, until close
	stop context.CancelFunc
	runs sync.WaitGroup

	mu      sync.Mutex
	current *renewing // nil before the first renewal and after a failure
	failed  error     // why the last attempt to open a stream failed
	again   time.Time // when the next attempt may begin
	// waiting are the unanswered renewals by lease, in the order in which they were sent and in
	// which etcd answers them with TTLs in seconds. They include abandoned renewals. The order is
	// known because a lease has one caller at a time.
	waiting map[int64][]chan int64
}

// opener opens a renewal stream. One goroutine calls answered for each answer, with the TTL in
// seconds, and finally ended when the stream ends. Neither function blocks.
type opener func(ctx context.Context, answered func(id, ttl int64), ended func()) (renewer, error)

// renewer is a renewal stream.
type renewer interface {
	// Renew sends a renewal. It is safe for concurrent use.
	Renew(id int64) error
	// Close ends the stream, and returns after the last call of its functions.
	Close()
}

// renewing is a stream from the attempt to open it until it has ended.
type renewing struct {
	opened chan struct{} // closed when the attempt has ended
	stream renewer
}

// renewalPause is the time after a failed attempt in which renewals fail without a new attempt.
const renewalPause = 100 * time.Millisecond

func newRenewals(open opener) *leaseRenewals {
	r := &leaseRenewals{open: open, waiting: map[int64][]chan int64{}}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// errRenewalsEnd is the error for renewals whose stream ended before their answer.
var errRenewalsEnd = errors.New("the stream of renewals ended")

// keep renews a lease and returns its TTL in seconds: 0 if it has ended.
func (r *leaseRenewals) keep(ctx context.Context, id int64) (ttl int64, err error) {
	answered := make(chan int64, 1)
	if err := r.send(ctx, id, answered); err != nil {
		return 0, err
	}
	select {
	case ttl, ok := <-answered:
		if !ok {
			return 0, database.MaybeApplied(database.ClassConnection, errRenewalsEnd)
		}
		return ttl, nil
	case <-ctx.Done():
		return 0, answer.Classify(ctx.Err(), true)
	}
}

// send sends a renewal, over a new stream if necessary.
func (r *leaseRenewals) send(ctx context.Context, id int64, answered chan int64) error {
	for {
		stream, opening, err := r.enter(id, answered)
		switch {
		case err != nil:
			return err
		case stream != nil:
			if err := stream.Renew(id); err != nil {
				r.leave(id, answered)
				return answer.Classify(err, true)
			}
			return nil
		}
		select {
		case <-opening:
		case <-ctx.Done():
			return answer.Classify(ctx.Err(), false)
		}
	}
}

// enter registers a renewal before it is sent, because its answer may come at once, and returns the
// stream. Without a stream it returns a channel that is closed when an attempt to open one ends.
func (r *leaseRenewals) enter(id int64, answered chan int64) (stream renewer, opening chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.current
	if s == nil {
		if r.ctx.Err() != nil {
			return nil, nil, database.NotApplied(database.ClassCancelled, r.ctx.Err())
		}
		if time.Now().Before(r.again) {
			return nil, nil, answer.Classify(r.failed, false)
		}
		s = &renewing{opened: make(chan struct{})}
		r.current = s
		r.runs.Go(func() { r.run(s) })
	}
	if s.stream != nil {
		r.waiting[id] = append(r.waiting[id], answered)
	}
	return s.stream, s.opened, nil
}

// leave removes a renewal that was not sent, unless the end of the stream already did.
func (r *leaseRenewals) leave(id int64, answered chan int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if all := slices.DeleteFunc(r.waiting[id], func(other chan int64) bool { return other == answered }); len(all) > 0 {
		r.waiting[id] = all
	} else {
		delete(r.waiting, id)
	}
}

// run opens a stream and closes it when it has ended, which fails the waiting renewals.
func (r *leaseRenewals) run(s *renewing) {
	ended := make(chan struct{})
	stream, err := r.open(r.ctx, r.answer, func() { close(ended) })
	r.mu.Lock()
	if s.stream = stream; err != nil {
		r.current, r.failed, r.again = nil, err, time.Now().Add(renewalPause)
	}
	close(s.opened)
	r.mu.Unlock()
	if err != nil {
		return
	}
	select {
	case <-ended:
	case <-r.ctx.Done():
	}
	stream.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current = nil
	for _, all := range r.waiting {
		for _, answered := range all {
			close(answered)
		}
	}
	clear(r.waiting)
}

// answer passes an answer to the first waiting renewal of its lease.
func (r *leaseRenewals) answer(id, ttl int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch all := r.waiting[id]; {
	case len(all) == 1:
		all[0] <- ttl
		delete(r.waiting, id)
	case len(all) > 1:
		all[0] <- ttl
		r.waiting[id] = all[1:]
	}
}

// close ends the stream.
func (r *leaseRenewals) close() {
	r.mu.Lock()
	r.stop()
	r.mu.Unlock()
	r.runs.Wait()
}
