package database

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Renewer renews a session at an interval, and knows when to assume that the session has ended.
type Renewer struct {
	lost    chan struct{}
	cancel  context.CancelFunc
	renewal sync.WaitGroup
}

// Renew starts to renew a session that a request sent just now was granted for a TTL. The session
// is lost if a renewal reports that, or if for a whole TTL no sent renewal was answered.
func Renew(every, ttl time.Duration, keep func(context.Context) error) *Renewer {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Renewer{lost: make(chan struct{}), cancel: cancel}
	granted := time.Now()
	r.renewal.Go(func() {
		if renewing(ctx, granted, every, ttl, keep) {
			close(r.lost)
		}
	})
	return r
}

// renewing returns true when the session is lost, or false when ctx has ended.
func renewing(ctx context.Context, renewed time.Time, every, ttl time.Duration, keep func(context.Context) error) (lost bool) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		over := time.Until(renewed.Add(ttl))
		if over <= 0 {
			return ctx.Err() == nil
		}
		end := time.NewTimer(over)
		select {
		case <-tick.C:
		case <-end.C:
		case <-ctx.Done():
		}
		end.Stop()
		if ctx.Err() != nil {
			return false
		}
		sent := time.Now()
		within, cancel := context.WithDeadline(ctx, renewed.Add(ttl))
		err := keep(within)
		cancel()
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil:
			renewed = sent
		case errors.Is(err, ErrNoSession):
			return true
		}
	}
}

// Lost returns a channel that is closed when the session must be assumed to have ended.
func (r *Renewer) Lost() <-chan struct{} { return r.lost }

// Stop stops the renewals and waits for the last one.
func (r *Renewer) Stop() {
	r.cancel()
	r.renewal.Wait()
}
