// Package wakeup makes waits on Go timers end on time.
package wakeup

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Wakeup wakes the process when the wait of a client ends. In an idle process a Go timer alone
// fires half a millisecond late on average: the runtime checks its timers when its poller returns,
// and the poller sleeps whole milliseconds. A timerfd that the poller watches makes the poller
// return on time. Clients still wait for Go timers, so only precision depends on the wake-ups. A
// Wakeup is safe for concurrent use, and a nil one does nothing.
type Wakeup struct {
	now   func() int64
	timer timer

	mu   sync.Mutex
	room []int64 // memory for due, several times the wait count, so that they rarely move
	due  []int64 // when the waits end, ascending
	at   int64   // when the timerfd fires; never if it is not set
	last int64   // when it last fired
}

const (
	never = math.MaxInt64
	// wakeupPause is the least time between two wake-ups, in nanoseconds. Waits that
	// end in between share the second one. It bounds the cost to 5,000 a second.
	wakeupPause = int64(200 * time.Microsecond)
	// wakeupAfter is the time from the end of a wait until the process wakes, in nanoseconds. The
	// Go timer was set just after the clock was read and must have expired by then.
	wakeupAfter = int64(time.Microsecond)
)

// New returns a Wakeup for some concurrent waits, with times from the clock now. On the fake clock
// of a test, which the kernel does not follow, and on other systems than Linux it returns nil.
func New(now func() int64, waits int) (*Wakeup, error) {
	var machine unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &machine); err != nil {
		return nil, fmt.Errorf("read the clock: %w", err)
	}
	if time.Since(time.Unix(machine.Unix())).Abs() > time.Hour {
		return nil, nil
	}
	t, err := newTimer()
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("create a timerfd: %w", err)
	}
	room := make([]int64, 4*waits)
	return &Wakeup{now: now, timer: t, room: room, due: room[:0], at: never}, nil
}

// Add schedules a wake-up for a wait that ends at due. Clients take requests in due order, so a
// wait nearly always belongs at the end.
func (w *Wakeup) Add(due int64) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.due) == cap(w.due) {
		w.due = append(w.room[:0], w.due...)
	}
	w.due = append(w.due, due)
	i := len(w.due) - 1
	for ; i > 0 && w.due[i-1] > due; i-- {
		w.due[i] = w.due[i-1]
	}
	w.due[i] = due
	w.set(w.now())
}

// Next forgets the waits that ended and schedules the next wake-up.
func (w *Wakeup) Next() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	ended := 0
	for ended < len(w.due) && w.due[ended] <= now {
		ended++
	}
	w.due = w.due[ended:]
	w.set(now)
}

// set sets the timerfd to when the next wait ends, unless it is already so.
func (w *Wakeup) set(now int64) {
	if w.at <= now {
		w.last, w.at = w.at, never
	}
	if len(w.due) == 0 {
		return
	}
	at := max(w.due[0]+wakeupAfter, w.last+wakeupPause)
	if at == w.at {
		return
	}
	w.at = at
	w.timer.set(max(at-now, 1))
}

// Close closes the timerfd. No client may wait any more.
func (w *Wakeup) Close() error {
	if w == nil {
		return nil
	}
	return w.timer.Close()
}
