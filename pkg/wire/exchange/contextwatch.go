package exchange

import "context"

// contextWatch notices when a context ends. Registering for that costs more than most of a request,
// and callers use one context for many requests, so the last registration is kept. The lock of the
// connection guards it.
type contextWatch struct {
	done <-chan struct{} // the watched context's
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

// ends records that a context has ended. It returns false for one that is no longer watched.
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
