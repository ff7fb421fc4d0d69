package results

import "time"

// Stops are the stretches of a load in which the client did not run: its process was stopped, or
// waited for a processor. The client watchdog sees stretches longer than 10 ms, with a resolution
// of 10 ms.
type Stops struct {
	N       int64 `json:"n"`
	TotalNS int64 `json:"total_ns"`
	// Longest is the longest stretch.
	Longest Stretch `json:"longest"`
	// Stretches are the first 1,000 stretches at least 100 ms long, in order.
	Stretches []Stretch `json:"stretches,omitempty"`
}

// Stretch is part of a run, by the client clock.
type Stretch struct {
	From   time.Time     `json:"from"`
	Length time.Duration `json:"length_ns"`
}

// To returns when the stretch ends.
func (s Stretch) To() time.Time { return s.From.Add(s.Length) }

// Overlaps reports whether the stretch overlaps the half-open range [from, to).
func (s Stretch) Overlaps(from, to time.Time) bool { return from.Before(s.To()) && s.From.Before(to) }
