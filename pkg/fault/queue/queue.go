// Package queue holds packets back: those that a table of nftables hands to a [Queue] go on later,
// at a bandwidth, or both. The kernel holds them, and this process decides when each goes on. Those
// that a process has held when it ends, however it does, are lost, and no later ones are held.
package queue

import (
	"time"
)

// Line is what packets pass. What is zero lets all pass at once.
type Line struct {
	// Delay is by how much each packet is later.
	Delay time.Duration
	// Rate is the bits of a second of all packets together, with the headers of IP.
	Rate int64
}

// Counted are the packets that came.
type Counted struct {
	// Packets went on, with Bytes in all. Mean and Longest are how long they were held.
	Packets, Bytes uint64
	Mean, Longest  time.Duration
	// Busiest is the most bits that went on in a second.
	Busiest uint64
	// Dropped are those that came while others of over [LongestWait] waited for the bandwidth, and
	// Lost those that the kernel could not hold.
	Dropped, Lost uint64
}

// LongestWait is how much may wait for a bandwidth.
const LongestWait = 100 * time.Millisecond

// line is a [Line] at work. Times are since its beginning.
type line struct {
	Line
	free time.Duration // when all that it took has passed its bandwidth
}

// take returns when a packet of a size that comes now goes on. It is false if too much waits.
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

// tally counts packets as they go on.
type tally struct {
	counted Counted
	held    time.Duration // of all together
	// second is the number of the present second, and bits what went on in it.
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

// sums are all counts until now.
func (t *tally) sums() Counted {
	c := t.counted
	if c.Packets > 0 {
		c.Mean = t.held / time.Duration(c.Packets)
	}
	return c
}
