package exchange

import "context"

// watch waits for the end of a context. Registering for it costs more than most of
// a request, and callers use one context many times, so it keeps the last.
type watch struct {
	done <-chan struct{} // of the context that is watched
	over bool            // it has ended
	stop func() bool     // stops watching it
}

// take watches another context. When it ends, ended is called once.
func (w *watch) take(ctx context.Context, ended func(done <-chan struct{})) {
	w.forget()
	done := ctx.Done()
	w.done = done
	if done != nil {
		w.stop = context.AfterFunc(ctx, func() { ended(done) })
	}
}

// ends notes the end of a context, if it is the one that is watched.
func (w *watch) ends(done <-chan struct{}) bool {
	if done != w.done {
		return false
	}
	w.over = true
	return true
}

// forget watches no context any more.
func (w *watch) forget() {
	if w.stop != nil {
		w.stop()
	}
	*w = watch{}
}
