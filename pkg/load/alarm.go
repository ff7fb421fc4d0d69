package load

import (
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// alarm wakes the process when a client's wait is over. A Go timer alone is half a
// millisecond late on the mean in a process that has nothing else to do: the
// runtime looks at its timers when its poller returns, and the poller sleeps whole
// milliseconds. A timer of the kernel that the poller watches makes it return on
// time. Clients still wait for Go timers, so nothing but precision depends on the
// alarm; it is safe for concurrent use, and a nil alarm does nothing.
type alarm struct {
	now  func() int64
	file *os.File // of the kernel's timer; nobody reads it
	fd   int

	mu   sync.Mutex
	room []int64 // several times the waits there can be, so that they rarely move
	due  []int64 // the waits that are not over, the next one first, in room
	at   int64   // when the alarm rings; never if it is not set
	rang int64   // when it rang last
}

const (
	never = math.MaxInt64
	// alarmPause is the least time between two alarms: what is due in between waits
	// for the second. It bounds what precision costs to 5,000 wake-ups a second.
	alarmPause = int64(200 * time.Microsecond)
	// alarmAfter is how long after a wait's end its alarm rings: the Go timer was set
	// a moment after the clock was read, and must be over by then.
	alarmAfter = int64(time.Microsecond)
)

// newAlarm returns an alarm for a number of waits at once and times of a clock, or
// nil for the clock of a test, which the kernel does not know.
func newAlarm(now func() int64, waits int) (*alarm, error) {
	var machine unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &machine); err != nil {
		return nil, fmt.Errorf("read the clock: %w", err)
	}
	if time.Since(time.Unix(machine.Unix())).Abs() > time.Hour {
		return nil, nil
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create a timer: %w", err)
	}
	// A file that does not block is one that the poller watches.
	room := make([]int64, 4*waits)
	return &alarm{now: now, fd: fd, file: os.NewFile(uintptr(fd), "alarm"), room: room, due: room[:0], at: never}, nil
}

// add sets the alarm for a wait. Clients take requests in the order of their due
// times, so that a wait nearly always belongs at the end.
func (a *alarm) add(due int64) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.due) == cap(a.due) {
		a.due = append(a.room[:0], a.due...)
	}
	a.due = append(a.due, due)
	i := len(a.due) - 1
	for ; i > 0 && a.due[i-1] > due; i-- {
		a.due[i] = a.due[i-1]
	}
	a.due[i] = due
	a.set(a.now())
}

// next sets the alarm for the next wait, when one is over.
func (a *alarm) next() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	over := 0
	for over < len(a.due) && a.due[over] <= now {
		over++
	}
	a.due = a.due[over:]
	a.set(now)
}

// set sets the kernel's timer to the next wait's end, if it is not.
func (a *alarm) set(now int64) {
	if a.at <= now {
		a.rang, a.at = a.at, never
	}
	if len(a.due) == 0 {
		return
	}
	at := max(a.due[0]+alarmAfter, a.rang+alarmPause)
	if at == a.at {
		return
	}
	a.at = at
	// It fails only for a file that is closed, when the step is over.
	_ = unix.TimerfdSettime(a.fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(max(at-now, 1))}, nil)
}

// close frees the kernel's timer, when no client waits any more.
func (a *alarm) close() error {
	if a == nil {
		return nil
	}
	return a.file.Close()
}
