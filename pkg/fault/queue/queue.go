// Package queue holds packets back: those an nftables table hands to a [Queue] continue later, at a
// bandwidth, or both. The kernel holds the packets, and this process decides when each continues.
// When the process ends, for whatever reason, the packets it held are lost, and later packets are
// not held.
package queue

import (
	"time"
)

// Line describes the line that packets pass. A zero field does not delay them.
type Line struct {
	// Delay is the time by which each packet is delayed.
	Delay time.Duration
	// Rate is the bandwidth of all packets together in bits per second, including IP headers.
	Rate int64
}

// Counted counts the packets that came.
type Counted struct {
	// Packets and Bytes count the packets that passed. Mean and Longest are how long packets were
	// held.
	Packets, Bytes uint64
	Mean, Longest  time.Duration
	// Busiest is the largest number of bits that passed in a second.
	Busiest uint64
	// Dropped packets came while the packets that waited for the bandwidth needed more than
	// [LongestWait]. Lost packets did not fit into the kernel's queue.
	Dropped, Lost uint64
}

// LongestWait bounds the backlog for a bandwidth.
const LongestWait = 100 * time.Millisecond

// line adds to a [Line] its state. Times are since the start of the line.
type line struct {
	Line
	free time.Duration // when all packets so far will have passed the bandwidth
}

// take returns when a packet of this size that comes now is due. It returns false if the backlog is
// too long.
func (l *line) take(now time.Duration, bytes int) (due time.Duration, ok bool) {
	if l.Rate <= 0 {
		return now + l.Delay, true
	}
	begin := max(now, l.free)
	if begin-now > LongestWait {
		return 0, false
	}
	l.free = begin + time.Duration(float64(bytes)*8/float64(l.Rate)*float64(time.Second))
	return l.free + l.Delay, true
}

// tally counts packets as they pass.
type tally struct {
	counted Counted
	held    time.Duration // for all together
	// second is the number of the current second, and bits the number of bits that passed in it.
	second time.Duration
	bits   uint64
}

func (t *tally) pass(now, came time.Duration, bytes int) {
	c := &t.counted
	c.Packets, c.Bytes = c.Packets+1, c.Bytes+uint64(bytes)
	t.held += now - came
	c.Longest = max(c.Longest, now-came)
	if s := now.Truncate(time.Second); s != t.second {
		t.second, t.bits = s, 0
	}
	t.bits += 8 * uint64(bytes)
	c.Busiest = max(c.Busiest, t.bits)
}

// sums returns all counts so far.
func (t *tally) sums() Counted {
	c := t.counted
	if c.Packets > 0 {
		c.Mean = t.held / time.Duration(c.Packets)
	}
	return c
}
