package results

import "time"

// Stops are the stretches of a load in which the client did not run: its process was
// stopped, or waited for a processor. They are those that the client's watchdog saw,
// each longer than 10 ms and known to 10 ms.
type Stops struct {
	N       int64 `json:"n"`
	TotalNS int64 `json:"total_ns"`
	// Longest is the longest one.
	Longest Stretch `json:"longest"`
	// Stretches are those of at least 100 ms in order, the first 1,000.
	Stretches []Stretch `json:"stretches,omitempty"`
}

// Stretch is a part of a run, in the client's clock.
type Stretch struct {
	From   time.Time     `json:"from"`
	Length time.Duration `json:"length_ns"`
}

// To is the end of the stretch.
func (s Stretch) To() time.Time { return s.From.Add(s.Length) }

// Stopped are the stretches of at least 100 ms in which the client did not run, in
// order. What was measured in them says nothing about the database, so a reader may
// cut them. It is empty if there were none, or if the run did not record them.
func (r *DatabaseRun) Stopped() []Stretch {
	if r.Stops == nil {
		return nil
	}
	return r.Stops.Stretches
}
