// Package clock keeps time for a load.
package clock

import (
	"sync/atomic"
	"time"
)

// Clock counts monotonic nanoseconds since it was made. Wall clock steps do not move it. It never
// changes, so each part of a recorder has a copy.
type Clock struct {
	base time.Time
	unix int64 // base in nanoseconds, by the wall clock
	// missed is nil for a clock that misses nothing.
	missed *atomic.Int64
}

// New returns a clock that begins now.
func New() Clock {
	base := time.Now()
	return Clock{base: base, unix: base.UnixNano()}
}

// At returns a clock that begins now, at a given unix time, such as another machine's.
func At(unix time.Time) Clock { return Clock{base: time.Now(), unix: unix.UnixNano()} }

// Missing returns a clock that begins now. It is ahead of the process by ns, which must only grow,
// as if the process had been stopped for that long. It is for tests, whose fake time passes only
// while goroutines wait for it.
func Missing(ns *atomic.Int64) Clock {
	c := New()
	c.missed = ns
	return c
}

// Now returns the present moment in nanoseconds.
func (c *Clock) Now() int64 {
	now := int64(time.Since(c.base))
	if c.missed != nil {
		now += c.missed.Load()
	}
	return now
}

// Second converts a moment to its unix second, rounded down.
func (c *Clock) Second(ns int64) int64 { return (c.unix + ns) / 1e9 }

// SecondStart returns the moment at which a unix second starts.
func (c *Clock) SecondStart(second int64) int64 { return second*1e9 - c.unix }

// Moment inverts Time.
func (c *Clock) Moment(t time.Time) int64 { return t.UnixNano() - c.unix }

// Time converts a moment to the wall clock, in UTC.
func (c *Clock) Time(ns int64) time.Time { return time.Unix(0, c.unix+ns).UTC() }

// Since converts a time read from the clock of this process to a moment. Wall clock steps do not
// move it.
func (c *Clock) Since(t time.Time) int64 {
	ns := int64(t.Sub(c.base))
	if c.missed != nil {
		ns += c.missed.Load()
	}
	return ns
}

// Instant converts a moment to a time that wall clock steps do not move.
func (c *Clock) Instant(ns int64) time.Time {
	if c.missed != nil {
		ns -= c.missed.Load()
	}
	return c.base.Add(time.Duration(ns))
}
