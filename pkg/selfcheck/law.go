package selfcheck

import (
	"errors"
	"fmt"
	"time"
)

// Law says when the server replies. It depends on nothing but a request's number
// and when it was received.
type Law struct {
	// Delays are the delays of a thousand requests; their counts sum to that.
	Delays []Delay `json:"delays"`
	// StallAfter the first request was received, the server stands still for
	// StallFor: what it should answer in that time is answered at its end.
	StallAfter time.Duration `json:"stall_after_ns"`
	StallFor   time.Duration `json:"stall_for_ns"`
}

// Delay is the delay of some requests of a thousand.
type Delay struct {
	Count int           `json:"count"`
	Delay time.Duration `json:"delay_ns"`
}

// thousand is how many requests a law repeats after.
const thousand = 1000

// scatter has no factor in common with a thousand: multiples of it visit every
// place before they repeat, so that delays of one kind are spread out.
const scatter = 389

// tails is mostly a millisecond, with tails whose edges lie between the usual
// percentiles: p50 is 1 ms, p95 5 ms, p99 20 ms and p99.9 100 ms.
func tails() []Delay {
	return []Delay{
		{900, time.Millisecond}, {70, 5 * time.Millisecond}, {25, 20 * time.Millisecond}, {5, 100 * time.Millisecond},
	}
}

func (l Law) check() error {
	var sum int
	for _, d := range l.Delays {
		if d.Count < 0 || d.Delay < 0 {
			return fmt.Errorf("%d requests have a delay of %v", d.Count, d.Delay)
		}
		sum += d.Count
	}
	if sum != thousand {
		return fmt.Errorf("the delays are of %d requests instead of %d", sum, thousand)
	}
	if l.StallAfter < 0 || l.StallFor < 0 {
		return errors.New("a stall cannot be in the past")
	}
	return nil
}

// delay is the delay of request number, without stalls.
func (l Law) delay(number int64) time.Duration {
	place := int(number % thousand * scatter % thousand)
	for _, d := range l.Delays {
		if place < d.Count {
			return d.Delay
		}
		place -= d.Count
	}
	return 0
}

// reply is when a request is answered that was received at a time; both count
// from when the first request was received.
func (l Law) reply(number int64, received time.Duration) time.Duration {
	at := received + l.delay(number)
	if end := l.StallAfter + l.StallFor; at >= l.StallAfter && at < end {
		return end
	}
	return at
}
