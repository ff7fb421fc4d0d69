// Package fiber runs functions that wait often and briefly, such as clients that wait for answers:
// the goroutine that ends a wait, such as the reader of a connection, continues the function
// itself. That costs a stack switch, but no round of the Go scheduler, which may have to wake a
// thread.
package fiber

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/wire/buffer"
)

// Fiber is a running function. Only the function itself may call its methods, except
// [Fiber.Continue] and [Fiber.Interrupt].
type Fiber struct {
	next  func() (left struct{}, more bool)
	yield func(struct{}) bool
	ended func()
	state atomic.Int32
	// borrowed: another's goroutine may run the function, which must not block.
	borrowed bool
	leaves   bool   // the function stopped to get its own goroutine, not to wait
	batch    *Batch // for the goroutine that runs the function; nil if it has no batch
	memory   *buffer.Buffer

	mu    sync.Mutex
	waits Interruptible
	until context.Context // the wait's
}

// The states of a fiber.
const (
	running int32 = iota
	waiting
	continued // before it had stopped to wait
)

// Go runs a function as a fiber in a group. The calling goroutine begins it, and Go returns when
// the function first waits, leaves or has ended.
func Go(group *sync.WaitGroup, run func(*Fiber)) {
	f := &Fiber{ended: group.Done, borrowed: true}
	f.next, _ = iter.Pull(func(yield func(struct{}) bool) {
		f.yield = yield
		run(f)
	})
	group.Add(1)
	f.drive(nil)
}

// drive runs the function until it waits or has ended.
func (f *Fiber) drive(b *Batch) {
	f.batch = b
	for {
		_, more := f.next()
		switch {
		case !more:
			f.ended()
			return
		case f.leaves:
			f.leaves = false
			go f.drive(nil)
			return
		case f.state.CompareAndSwap(running, waiting):
			return
		}
		f.state.Store(running) // continued meanwhile
	}
}

// Wait stops the function until it is continued. Each Wait needs one [Fiber.Continue], which
// may come first.
func (f *Fiber) Wait() {
	f.memory.GiveBack()
	f.memory = nil
	f.borrowed = true
	f.yield(struct{}{})
}

// Continue ends the present wait, or the next one. It returns when the function waits again,
// leaves the calling goroutine or has ended, or at once if the function has not yet stopped. The
// caller must hold no mutex.
func (f *Fiber) Continue() { f.ContinueIn(nil) }

// ContinueIn continues like [Fiber.Continue], for a goroutine that continues several functions,
// and then does the work that they left in a batch. The batch may be nil.
func (f *Fiber) ContinueIn(b *Batch) {
	for {
		if f.state.CompareAndSwap(waiting, running) {
			f.drive(b)
			return
		}
		if f.state.CompareAndSwap(running, continued) {
			return
		}
	}
}

// Leave continues the function on its own goroutine, until it waits again. It must be called before
// anything that may block, because the goroutine that runs the function may be the one that would
// end the blocking.
func (f *Fiber) Leave() {
	if f == nil || !f.borrowed {
		return
	}
	f.borrowed, f.leaves = false, true
	f.yield(struct{}{})
}

// Interruptible ends the wait of a fiber early.
type Interruptible interface {
	// Interrupt is called after the context of the wait has ended. It returns at once, and makes
	// another goroutine continue the fiber unless the fiber is continued anyway.
	Interrupt()
}

// MostBorrowed bounds, in bytes, the memory that [Fiber.Borrow] lends again.
const MostBorrowed = buffer.Largest

// Borrow returns memory with length 0 and room for n bytes. The function has it until it waits or
// borrows again: otherwise a thousand waiting functions would each hold as much, and find it in no
// cache when they continue. More than [MostBorrowed] is allocated each time.
func (f *Fiber) Borrow(n int) []byte {
	if f.memory == nil || cap(f.memory.Bytes) < n {
		f.memory.GiveBack()
		f.memory = buffer.Borrow(n)
	}
	return f.memory.Bytes
}

// WaitsFor sets the wait that [Fiber.Interrupt] interrupts after ctx has ended, until
// [Fiber.Waited].
func (f *Fiber) WaitsFor(ctx context.Context, what Interruptible) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until, f.waits = ctx, what
}

// Waited removes the target of [Fiber.Interrupt]. It returns after a running interruption.
func (f *Fiber) Waited() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until, f.waits = nil, nil
}

// Interrupt is called after the context for a call by the function has ended. It has no effect if
// the function meanwhile waits with another context. It is safe for concurrent use.
func (f *Fiber) Interrupt() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waits != nil && f.until.Err() != nil {
		f.waits.Interrupt()
	}
}

// Context carries the fiber that makes a call. Its owner calls [Fiber.Interrupt] after ending it.
type Context interface {
	context.Context
	// Fiber returns the fiber, or nil.
	Fiber() *Fiber
	// Left returns the time until the deadline of the call, as of when the fiber last read the
	// clock, just before it made the call. It is 0 without a deadline. Only the fiber may call it.
	Left() time.Duration
}

// Key looks up the fiber of a context, a *Fiber: contexts that are derived from a [Context] have it
// too.
type Key struct{}

// Of returns the fiber that runs with a context, and the time left for the call: see [Context]. The
// fiber is nil if no fiber runs with the context, or if the context is derived from the fiber's
// own: when a derived context ends, that does not interrupt the fiber.
func Of(ctx context.Context) (f *Fiber, left time.Duration) {
	own, ok := ctx.(Context)
	if !ok {
		return nil, 0
	}
	if f = own.Fiber(); f == nil {
		return nil, 0
	}
	return f, own.Left()
}

// Leave makes the fiber that runs with a context, if any, leave a goroutine that it must not
// block.
func Leave(ctx context.Context) {
	f, _ := ctx.Value(Key{}).(*Fiber)
	f.Leave()
}
