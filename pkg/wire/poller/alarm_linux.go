package poller

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/wire/fiber"
)

// Alarms are waits for times, which the goroutine that reads connections ends on time. A Go timer
// would wake a thread for each wait, which would wake another one to run the waiting goroutine.
// Alarms are safe for concurrent use.
type Alarms struct {
	set   *set
	shift int64 // from times of the user to those of the set, in nanoseconds
	busy  bool

	// ringing is held while functions run.
	ringing sync.Mutex
	// over and closed belong to the lock of the set's clock.
	over, closed bool
}

// alarm is a wait of a fiber, or a function to call.
type alarm struct {
	at    int64 // on the clock of the set
	of    *Alarms
	fiber *fiber.Fiber // nil for a function
	do    func() (next int64)
}

// never is a time after all others.
const never = math.MaxInt64

// NewAlarms returns alarms whose times are nanoseconds after zero, which must have a monotonic
// reading. A busy user has many fibers that wait for times and for answers: while there is one, the
// goroutine hides its waits, each of at most a millisecond, from Go's scheduler. Fibers that wait
// only for answers should not be busy: more answers arrive in one wait. NewAlarms returns nil where
// it is impossible to wait for times: on systems other than Linux, and on a test's fake clock. The
// caller must close the alarms.
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

// EndWaits ends the waits of all fibers and continues these; later waits return at once. On nil it
// does nothing.
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

// call calls a function unless the alarms are closed.
func (a *Alarms) call(w alarm) {
	a.ringing.Lock()
	defer a.ringing.Unlock()
	if a.set.clock.isClosed(a) {
		return
	}
	if next := w.do(); next != never {
		w.at = next + a.shift
		a.set.add(w)
	}
}

// clock has the alarms of a set.
type clock struct {
	base time.Time

	mu   sync.Mutex
	due  []alarm // ascending; the ones before rung were taken
	rung int
	// first is when the first alarm is due, [never] without alarms.
	first atomic.Int64
	// until is when the goroutine of the set wakes by itself; 0 while it is awake.
	until atomic.Int64
}

// now returns the present moment in nanoseconds.
func (c *clock) now() int64 { return int64(time.Since(c.base)) }

// isClosed reports whether alarms are closed.
func (c *clock) isClosed(a *Alarms) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return a.closed
}

// add adds an alarm, unless its kind has ended: then it returns false. It wakes the goroutine if the
// goroutine would sleep longer.
func (s *set) add(w alarm) bool {
	added, early := s.clock.insert(w)
	if early {
		s.wake()
	}
	return added
}

// insert adds an alarm. Clients wait in the order of their times, so it nearly always belongs near
// the end.
func (c *clock) insert(w alarm) (added, early bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.of.closed || w.of.over && w.fiber != nil {
		return false, false
	}
	if len(c.due) == cap(c.due) && 2*c.rung >= len(c.due) {
		n := copy(c.due, c.due[c.rung:])
		clear(c.due[n:])
		c.due, c.rung = c.due[:n], 0
	}
	c.due = append(c.due, w)
	i := len(c.due) - 1
	for ; i > c.rung && c.due[i-1].at > w.at; i-- {
		c.due[i] = c.due[i-1]
	}
	c.due[i] = w
	c.first.Store(c.due[c.rung].at)
	if early = w.at < c.until.Load(); early {
		c.until.Store(w.at)
	}
	return true, early
}

// take removes the alarms for which a function returns true, and sets a mark.
func (c *clock) take(whose func(*alarm) bool, mark *bool) (taken []alarm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*mark = true
	c.due = slices.DeleteFunc(c.due[c.rung:], func(w alarm) bool {
		if !whose(&w) {
			return false
		}
		taken = append(taken, w)
		return true
	})
	c.rung = 0
	c.first.Store(never)
	if len(c.due) > 0 {
		c.first.Store(c.due[0].at)
	}
	return taken
}

// ended appends the due alarms. It returns the nanoseconds until the next one is due, 0 if there were
// any. The goroutine is assumed to sleep until then.
func (c *clock) ended(list []alarm) (due []alarm, next int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rung == len(c.due) {
		c.due, c.rung = c.due[:0], 0
		c.first.Store(never)
		c.until.Store(never)
		return list, never
	}
	now := c.now()
	for c.rung < len(c.due) && c.due[c.rung].at <= now {
		list = append(list, c.due[c.rung])
		c.due[c.rung] = alarm{}
		c.rung++
	}
	if len(list) > 0 {
		c.first.Store(never)
		if c.rung < len(c.due) {
			c.first.Store(c.due[c.rung].at)
		}
		return list, 0
	}
	c.until.Store(c.due[c.rung].at)
	return list, c.due[c.rung].at - now
}

// ring ends the due waits. It returns the nanoseconds until the next one is due.
func (s *set) ring(e *events) (next int64) {
	e.rung, next = s.clock.ended(e.rung[:0])
	for i := range e.rung {
		s.quiet = s.quiet && e.rung[i].fiber == nil
	}
	ringAll(e.rung, &e.batch)
	clear(e.rung)
	return next
}

// ringAll ends waits, and then writes the requests of the fibers.
func ringAll(list []alarm, b *fiber.Batch) {
	for _, w := range share(list, func(others []alarm) { ringAll(others, new(fiber.Batch)) }) {
		if w.fiber != nil {
			w.fiber.ContinueIn(b)
		} else {
			w.of.call(w)
		}
	}
	b.Run()
}
