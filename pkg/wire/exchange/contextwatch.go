package exchange

import "context"

// contextWatch notices the end of a context. Registering for it costs more than
// most of a request, and callers use one context for many requests, so the last
// registration is kept. The connection's lock guards it.
type contextWatch struct {
	done <-chan struct{} // of the watched context
	over bool            // the context has ended
	stop func() bool     // cancels the registration
}

// set watches another context. When that ends, ended is called once.
func (w *contextWatch) set(ctx context.Context, ended func(done <-chan struct{})) {
	w.clear()
	done := ctx.Done()
	w.done = done
	if done != nil {
		w.stop = context.AfterFunc(ctx, func() { ended(done) })
	}
}

// ends records the end of a context. It returns false for a context that is no longer
// watched.
func (w *contextWatch) ends(done <-chan struct{}) bool {
	if done != w.done {
		return false
	}
	w.over = true
	return true
}

// clear ends the watch.
func (w *contextWatch) clear() {
	if w.stop != nil {
		w.stop()
	}
	*w = contextWatch{}
}
