package generator

import "time"

// sessionClock is the clock that control compares with its own: this machine's wall clock when the
// session started, advanced by the monotonic clock. Setting the wall clock therefore moves neither
// the start of a step nor the seconds of a load.
type sessionClock struct {
	wall func(time.Time) time.Time // what the wall clock reads at a time
	base time.Time                 // when the session began
	unix time.Time                 // what the wall clock read then
}

// newSessionClock returns a clock that begins now. nil is this machine's wall clock.
func newSessionClock(wall func(time.Time) time.Time) sessionClock {
	if wall == nil {
		wall = func(t time.Time) time.Time { return t.Round(0) }
	}
	base := time.Now()
	return sessionClock{wall: wall, base: base, unix: wall(base).UTC()}
}

// start is when the session began.
func (c *sessionClock) start() time.Time { return c.unix }

// at converts a time of this process to this clock.
func (c *sessionClock) at(t time.Time) time.Time { return c.unix.Add(t.Sub(c.base)) }

// now returns the current time.
func (c *sessionClock) now() time.Time { return c.at(time.Now()) }

// set returns how far the wall clock was set forward since the session began, to the microsecond.
// The process may be preempted while it reads both clocks, so the least of a few readings counts.
func (c *sessionClock) set() (least time.Duration) {
	for n := range 3 {
		now := time.Now()
		if d := c.wall(now).Sub(c.at(now)); n == 0 || d.Abs() < least.Abs() {
			least = d
		}
	}
	return least.Round(time.Microsecond)
}
