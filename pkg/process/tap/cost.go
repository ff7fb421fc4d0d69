package tap

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Cost compares the time of calls under a tap that lets them pass with the time without a tap: the
// medians of N calls each.
type Cost struct {
	N             int
	With, Without time.Duration
}

// Cost has n calls made under the tap and n without it, in turns, or as many as begin within limit
// but at least one of each. Each call returns how long it took; calls are made one at a time, by
// two threads that end afterwards. The first error ends it.
func (t *Tap) Cost(ctx context.Context, n int, limit time.Duration, call func() (time.Duration, error)) (Cost, error) {
	with, without := newCaller(t.Place, call), newCaller(untapped, call)
	defer with.end()
	defer without.end()
	for begin := time.Now(); len(with.took) == 0 || len(with.took) < n && time.Since(begin) < limit; {
		if ctx.Err() != nil {
			return Cost{}, context.Cause(ctx)
		}
		for _, c := range []*caller{with, without} {
			if err := c.call(); err != nil {
				return Cost{}, err
			}
		}
	}
	return Cost{N: len(with.took), With: median(with.took), Without: median(without.took)}, nil
}

// untapped is a Place for processes that pass no tap.
func untapped(*syscall.SysProcAttr) (leave func() error, err error) {
	return func() error { return nil }, nil
}

// caller makes calls on its own thread.
type caller struct {
	turns   chan struct{}
	results chan result
	running sync.WaitGroup
	took    []time.Duration
}

// result describes a call, or how placing the thread went.
type result struct {
	took time.Duration
	err  error
}

func newCaller(place func(*syscall.SysProcAttr) (func() error, error), call func() (time.Duration, error)) *caller {
	c := &caller{turns: make(chan struct{}), results: make(chan result)}
	c.running.Go(func() {
		runtime.LockOSThread() // the thread ends with its goroutine, and the filter with it
		_, err := place(nil)
		for range c.turns {
			r := result{err: err}
			if err == nil {
				r.took, r.err = call()
			}
			c.results <- r
		}
	})
	return c
}

// call makes a call and keeps its time.
func (c *caller) call() error {
	c.turns <- struct{}{}
	r := <-c.results
	c.took = append(c.took, r.took)
	return r.err
}

// end ends the thread.
func (c *caller) end() {
	close(c.turns)
	c.running.Wait()
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[(len(times)-1)/2]
}
