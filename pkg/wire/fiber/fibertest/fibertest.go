// Package fibertest runs parts of tests as fibers.
package fibertest

import (
	"context"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/wire/fiber"
)

// Do runs a function as a fiber, with a context that has the fiber and ends with ctx, and returns when
// it has ended.
func Do(ctx context.Context, run func(ctx context.Context)) {
	var group sync.WaitGroup
	Go(ctx, &group, run)
	group.Wait()
}

// Go calls Do in a group. It returns when the function first waits, leaves the calling goroutine or
// has ended.
func Go(ctx context.Context, group *sync.WaitGroup, run func(ctx context.Context)) {
	fiber.Go(group, func(f *fiber.Fiber) { run(own{ctx, f}) })
}

// own is the context of a fiber.
type own struct {
	context.Context
	fiber *fiber.Fiber
}

var _ fiber.Context = own{}

// Fiber implements [fiber.Context].
func (o own) Fiber() *fiber.Fiber { return o.fiber }

// Left implements [fiber.Context].
func (o own) Left() time.Duration {
	at, bounded := o.Deadline()
	if !bounded {
		return 0
	}
	return max(time.Until(at), 1)
}

// Value has the fiber.
func (o own) Value(key any) any {
	if key == any(fiber.Key{}) {
		return o.fiber
	}
	return o.Context.Value(key)
}
