// Package tap delays, holds or refuses the calls by which processes have their writes put on disk:
// fsync, fdatasync, msync and sync_file_range. Calls through io_uring, and files opened with O_SYNC
// or O_DSYNC, bypass it.
//
// The kernel notifies this process of each call (seccomp), which needs no rights. The thread that
// starts a process installs the filter, and the process inherits it. A tap lives as long as its
// processes: without it their calls would fail.
package tap

import (
	"fmt"
	"sync"
	"syscall"
	"time"
)

// Effect changes calls; the zero value lets all pass.
type Effect struct {
	// Delay is how long each call is held before it is made. Stall holds calls until the effect
	// ends.
	Delay time.Duration
	Stall bool
	// Errno is returned instead of making the call, or 0.
	Errno syscall.Errno
}

// Tap supervises some processes. Its methods are safe for concurrent use.
type Tap struct {
	mu     sync.Mutex
	effect Effect
	// affected counts the calls the current effect changed.
	affected int64
	held     map[*call]*time.Timer // with nil timers if they are stalled or frozen
	// frozen is set while no call is made or answered.
	frozen  bool
	end     chan struct{}
	once    sync.Once
	serving sync.WaitGroup
}

// call identifies a held call.
type call struct {
	listener int
	id       uint64
}

// New returns a tap that lets all calls pass.
func New() *Tap { return &Tap{held: map[*call]*time.Timer{}, end: make(chan struct{})} }

// Set sets the effect on calls from now on. Held calls are made at once, unless the tap is
// frozen.
func (t *Tap) Set(e Effect) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.effect, t.affected = e, 0
	if !t.frozen {
		t.releaseAll()
	}
}

// Freeze holds all calls, held and new ones, whatever the effect is, until [Tap.Thaw]: the machine
// of the processes has no power.
func (t *Tap) Freeze() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frozen = true
	for c, timer := range t.held {
		if timer != nil {
			timer.Stop()
			t.held[c] = nil
		}
	}
}

// Thaw lets the effect decide about calls again. Held calls are made, if their callers still
// exist.
func (t *Tap) Thaw() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frozen = false
	t.releaseAll()
}

// Now returns the current effect.
func (t *Tap) Now() Effect {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.effect
}

// Affected returns the number of calls that the current effect has changed so far.
func (t *Tap) Affected() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.affected
}

// Close ends the tap, once its processes have ended.
func (t *Tap) Close() {
	t.Set(Effect{})
	t.Thaw()
	t.once.Do(func() { close(t.end) })
	t.serving.Wait()
}

// got receives a call that the kernel reported to the tap.
func (t *Tap) got(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.effect
	if e != (Effect{}) {
		t.affected++
	}
	switch {
	case t.frozen:
		t.held[c] = nil
	case e.Errno != 0:
		c.answer(e.Errno)
	case e.Stall:
		t.held[c] = nil
	case e.Delay > 0:
		t.held[c] = time.AfterFunc(e.Delay, func() { t.release(c) })
	default:
		c.answer(0)
	}
}

// release makes a delayed call, unless it was already made.
func (t *Tap) release(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, held := t.held[c]; held && !t.frozen {
		delete(t.held, c)
		c.answer(0)
	}
}

// releaseAll makes all held calls. The tap is locked.
func (t *Tap) releaseAll() {
	for c, timer := range t.held {
		if timer != nil {
			timer.Stop()
		}
		delete(t.held, c)
		c.answer(0)
	}
}

// String describes the effect.
func (e Effect) String() string {
	switch {
	case e.Errno != 0:
		return "fails with " + e.Errno.Error()
	case e.Stall:
		return "is held"
	case e.Delay > 0:
		return fmt.Sprintf("takes %v longer", e.Delay)
	}
	return "passes"
}
