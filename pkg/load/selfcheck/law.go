package selfcheck

import (
	"fmt"
	"time"
)

// Law decides when the server answers a request, from its number and when it was received.
type Law struct {
	// Delays are distributed over every thousand requests; their counts must sum to
	// 1,000.
	Delays []Delay `json:"delays"`
	// StallAfter counts from when the first request was received. The server then
	// stalls for StallFor: answers due in that time are sent at its end.
	StallAfter time.Duration `json:"stall_after_ns"`
	StallFor   time.Duration `json:"stall_for_ns"`
}

// Delay applies to Count requests in every thousand.
type Delay struct {
	Count int           `json:"count"`
	Delay time.Duration `json:"delay_ns"`
}

// thousand is the number of requests after which a law repeats.
const thousand = 1000

// scatter has no factor in common with a thousand. Its multiples visit every place
// before they repeat, so that equal delays are spread out.
const scatter = 389

// tails returns delays mostly a millisecond long, with tails whose edges lie between the usual
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
			return fmt.Errorf("counts and delays must not be negative, got %d requests with %v", d.Count, d.Delay)
		}
		sum += d.Count
	}
	if sum != thousand {
		return fmt.Errorf("the counts of delays must sum to %d, got %d", thousand, sum)
	}
	if l.StallAfter < 0 || l.StallFor < 0 {
		return fmt.Errorf("a stall must not begin or last less than 0s, got %v after %v", l.StallFor, l.StallAfter)
	}
	return nil
}

// delay returns a request delay without the stall.
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

// reply returns when a request is answered. Both times count from when the first
// request was received.
func (l Law) reply(number int64, received time.Duration) time.Duration {
	at := received + l.delay(number)
	if end := l.StallAfter + l.StallFor; at >= l.StallAfter && at < end {
		return end
	}
	return at
}
