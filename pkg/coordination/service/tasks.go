package service

import (
	"context"
	"sync"
)

// tasks are goroutines that are ended together.
type tasks struct {
	sync.WaitGroup
	cancel context.CancelFunc // nil before begin
}

// begin returns the context for tasks, which is over at end, not with ctx.
func (t *tasks) begin(ctx context.Context) context.Context {
	ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return ctx
}

// end ends the tasks, if they have begun, and waits for them.
func (t *tasks) end() {
	if t.cancel != nil {
		t.cancel()
		t.Wait()
	}
}
