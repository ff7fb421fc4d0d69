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

// leaseRenewals renews leases over one stream, which all of them share. It opens the stream with the first
// renewal, and anew after a failure. It is safe for concurrent use.
type leaseRenewals struct {
	open opener
	ctx  context.Context // of the streams, until close
	stop context.CancelFunc
	runs sync.WaitGroup

	mu      sync.Mutex
	current *renewing // nil before the first renewal and after a failure
	failed  error     // why the last attempt to open a stream failed
	again   time.Time // when the next one may begin
	// waiting are the renewals without an answer by lease, in their order, in which etcd answers
	// them with TTLs in seconds. Those that were given up stay among them. A lease has one caller at
	// a time, so that they were sent in that order.
	waiting map[int64][]chan int64
}

// opener opens a stream of renewals. One goroutine calls answered for each answer, with the TTL in
// seconds, and after that ended when the stream ends; neither waits.
type opener func(ctx context.Context, answered func(id, ttl int64), ended func()) (renewer, error)

// renewer is a stream of renewals.
type renewer interface {
	// Renew sends a renewal. It is safe for concurrent use.
	Renew(id int64) error
	// Close ends the stream, and returns when its functions are not called any more.
	Close()
}

// renewing is a stream from the attempt to open it until it has ended.
type renewing struct {
	opened chan struct{} // closed when the attempt has ended
	stream renewer
}

// renewalPause is the time after a failed attempt in which renewals fail without another one.
const renewalPause = 100 * time.Millisecond

func newRenewals(open opener) *leaseRenewals {
	r := &leaseRenewals{open: open, waiting: map[int64][]chan int64{}}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// errRenewalsEnd ends renewals without an answer.
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

// send sends a renewal, over a new stream if there is none.
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

// enter has a renewal wait for its answer, which may come as soon as it is sent, and returns the stream
// to send it. Without a stream it returns what is closed once an attempt to open one has ended.
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

// leave takes back a renewal that was not sent, unless the end of the stream did.
func (r *leaseRenewals) leave(id int64, answered chan int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if all := slices.DeleteFunc(r.waiting[id], func(other chan int64) bool { return other == answered }); len(all) > 0 {
		r.waiting[id] = all
	} else {
		delete(r.waiting, id)
	}
}

// run opens a stream and closes it when it has ended, which fails the renewals that wait.
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

// answer passes an answer on to the first renewal of its lease that waits.
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
