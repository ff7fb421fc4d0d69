package load

import (
	"context"
	"time"
)

// callContext is the context of a client's calls. A context with a timer for
// every request would cost more than the rest of a request, so a client keeps one
// context until a deadline passes, and one watcher cancels those that are over.
type callContext struct {
	context.Context
	worker *worker
	cancel context.CancelFunc
}

func newCallContext(w *worker) *callContext {
	ctx, cancel := context.WithCancel(context.Background())
	return &callContext{Context: ctx, worker: w, cancel: cancel}
}

// Deadline is that of the request in flight.
func (c *callContext) Deadline() (time.Time, bool) {
	word := c.worker.flight.word.Load()
	if word == 0 || c.worker.step.spec.Timeout <= 0 {
		return time.Time{}, false
	}
	rec := c.worker.step.rec
	return rec.base.Add(time.Duration(sentAt(word)) + c.worker.step.spec.Timeout), true
}

// Err is DeadlineExceeded when the watcher ended the call.
func (c *callContext) Err() error {
	err := c.Context.Err()
	if err != nil && c.worker.flight.word.Load()&flightExpired != 0 {
		return context.DeadlineExceeded
	}
	return err
}

// watchDeadlines cancels the calls that are over their deadline, until ctx ends.
// A call ends at most a hundredth of its time-out late, or a millisecond.
func (s *step) watchDeadlines(ctx context.Context, workers []*worker) {
	timeout := s.spec.Timeout
	if timeout <= 0 {
		return
	}
	ticker := time.NewTicker(min(max(timeout/100, time.Millisecond), 100*time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		over := s.rec.now() - int64(timeout)
		for _, w := range workers {
			w.expire(over)
		}
	}
}

// expire cancels the worker's call if it was sent before a time. Marking the
// flight first tells the worker that its context is used up: if the mark can be
// set, the call it belongs to has not ended, so the context is still that call's.
func (w *worker) expire(sentBefore int64) {
	word := w.flight.word.Load()
	if word == 0 || word&flightExpired != 0 || sentAt(word) > sentBefore {
		return
	}
	call := w.ctx.Load()
	if w.flight.word.CompareAndSwap(word, word|flightExpired) {
		call.cancel()
	}
}
