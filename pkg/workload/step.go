package workload

import (
	"fmt"
	"time"
)

// Step is one stretch in a load: so many clients for so many requests or for a time.
type Step struct {
	Clients     int `json:"clients"`
	Connections int `json:"connections"`
	// Requests bounds the step if not 0, Duration too. At least one is set.
	Requests int64         `json:"requests,omitempty"`
	Duration time.Duration `json:"duration_ns,omitempty"`
	// Rate is due requests per second over all clients; 0 is a closed loop, in which
	// a client sends the next request when the last one ended.
	Rate float64 `json:"rate,omitempty"`
	// RateEnd, if not 0, is the rate at the end of Duration. It changes evenly from
	// Rate.
	RateEnd float64 `json:"rate_end,omitempty"`
	// Ramp is the time over which the first requests from clients in a closed loop are spread
	// evenly.
	Ramp time.Duration `json:"ramp_ns,omitempty"`
	// Down marks a step on the way back in a sweep: its numbers are not pooled with the same step
	// on the way up.
	Down bool `json:"down,omitempty"`
}

// Check returns an error if a step cannot be carried out.
func (s Step) Check() error {
	switch {
	case s.Clients < 1:
		return fmt.Errorf("clients must be at least 1, got %d", s.Clients)
	case s.Requests <= 0 && s.Duration <= 0:
		return fmt.Errorf("requests or a duration must be positive, got %d and %v", s.Requests, s.Duration)
	case s.Rate < 0 || s.RateEnd < 0:
		return fmt.Errorf("rates must not be negative, got %v requests per second", min(s.Rate, s.RateEnd))
	case s.RateEnd > 0 && (s.Duration <= 0 || s.Rate == 0):
		return fmt.Errorf("a changing rate needs a first rate and a duration, got %v requests per second for %v", s.Rate, s.Duration)
	case s.Ramp > 0 && s.Rate > 0:
		return fmt.Errorf("a ramp of clients needs a closed loop, got a rate of %v requests per second", s.Rate)
	}
	return nil
}
