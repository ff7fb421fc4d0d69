// Package clock is the time of a load.
package clock

import "time"

// Clock counts monotonic nanoseconds since it was made.
// Steps of the wall clock do not move it. It never changes, so each part of a
// recorder has a copy.
type Clock struct {
	base time.Time
	unix int64 // nanoseconds of base on the wall clock
}

// New returns a clock that begins now.
func New() Clock {
	base := time.Now()
	return Clock{base: base, unix: base.UnixNano()}
}

// At returns a clock that begins now. Its unix time is a given one now, such as that of
// another machine.
func At(unix time.Time) Clock { return Clock{base: time.Now(), unix: unix.UnixNano()} }

// Now is the present moment in nanoseconds.
func (c *Clock) Now() int64 { return int64(time.Since(c.base)) }

// Second converts a moment to its unix second, rounded down.
func (c *Clock) Second(ns int64) int64 { return (c.unix + ns) / 1e9 }

// SecondStart is the moment at which a unix second starts.
func (c *Clock) SecondStart(second int64) int64 { return second*1e9 - c.unix }

// Moment is the inverse of Time.
func (c *Clock) Moment(t time.Time) int64 { return t.UnixNano() - c.unix }

// Time converts a moment to the wall clock, in UTC.
func (c *Clock) Time(ns int64) time.Time { return time.Unix(0, c.unix+ns).UTC() }

// Instant converts a moment to a time that steps of the wall clock do not move.
func (c *Clock) Instant(ns int64) time.Time { return c.base.Add(time.Duration(ns)) }
