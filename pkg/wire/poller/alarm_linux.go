package poller

import (
	"time"

	"github.com/coreos/dbtester/pkg/wire/fiber"
	"golang.org/x/sys/unix"
)

// NewAlarms returns alarms whose times are nanoseconds after zero, which must have a monotonic
// reading. A busy user has many fibers that wait for times and for answers: while there is a busy
// user, the goroutine hides its waits, each at most a millisecond long, from the Go scheduler.
// Fibers that wait only for answers should not be busy: more answers arrive in one wait. NewAlarms
// returns nil where it is impossible to wait for times: on systems other than Linux, and on the
// fake clock in tests. The caller must close the alarms.
func NewAlarms(zero time.Time, busy bool) (*Alarms, error) {
	var machine unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &machine); err != nil {
		return nil, err
	}
	if time.Since(time.Unix(machine.Unix())).Abs() > time.Hour {
		return nil, nil
	}
	s, err := common.get()
	if err != nil {
		return nil, err
	}
	return s.newAlarms(zero, busy), nil
}

func (s *set) newAlarms(zero time.Time, busy bool) *Alarms {
	if busy {
		s.busy.Add(1)
	}
	return &Alarms{set: s, shift: int64(zero.Sub(s.clock.base)), busy: busy}
}

// Wait makes the function of a fiber, which calls it, wait until a time or [Alarms.EndWaits].
func (a *Alarms) Wait(f *fiber.Fiber, until int64) {
	if a.set.add(alarm{at: until + a.shift, of: a, fiber: f}) {
		f.Wait()
	}
}

// Call calls a function at a time, and then at each time that the function returns, until that is
// [math.MaxInt64] or the alarms are closed. The goroutine that reads connections calls the function,
// which must not wait.
func (a *Alarms) Call(at int64, do func() (next int64)) {
	a.set.add(alarm{at: at + a.shift, of: a, do: do})
}

// EndWaits ends the waits of all fibers and continues the fibers; later waits return at once. On
// nil it does nothing.
func (a *Alarms) EndWaits() {
	if a == nil {
		return
	}
	for _, w := range a.set.clock.take(func(w *alarm) bool { return w.of == a && w.fiber != nil }, &a.over) {
		w.fiber.Continue()
	}
}

// Close forgets the functions, and returns after a running one. No fiber may wait. On nil, or when
// called again, it does nothing.
func (a *Alarms) Close() {
	if a == nil {
		return
	}
	a.set.clock.take(func(w *alarm) bool { return w.of == a }, &a.closed)
	a.ringing.Lock() // after which no function is called
	defer a.ringing.Unlock()
	if a.busy {
		a.set.busy.Add(-1)
		a.busy = false
	}
}
