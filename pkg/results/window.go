package results

import "time"

// Timing is what a step's latencies are measured by: response where requests had
// due times, service in a closed loop, where a request is due when it is sent.
func (r *DatabaseRun) Timing(step int) Timing {
	rate := r.Load.Rate
	for _, s := range r.Steps {
		if s.Index == step && s.Rate > 0 {
			rate = s.Rate
		}
	}
	if rate > 0 {
		return TimingResponse
	}
	return TimingService
}

// Window is how long the measured population was due: the load's time, without
// the pauses between steps, the warm-up at its beginning and the cool-down at its
// end. Requests per second are counts over this.
func (r *DatabaseRun) Window() time.Duration {
	if len(r.Steps) == 0 {
		return r.measured(r.LoadStart, r.LoadEnd)
	}
	var sum time.Duration
	for _, s := range r.Steps {
		sum += r.StepWindow(s)
	}
	return sum
}

// StepWindow is one step's share of [DatabaseRun.Window]; 0 for a step that never
// began. A step without an end lasted until the load's.
func (r *DatabaseRun) StepWindow(s Step) time.Duration {
	if s.Start.IsZero() {
		return 0
	}
	end := s.End
	if end.IsZero() {
		end = r.LoadEnd
	}
	return r.measured(s.Start, end)
}

// measured is the part of [start, end) between warm-up and cool-down. The wall
// clock counts, as in the manifest: the same record in memory and read back must
// give the same window.
func (r *DatabaseRun) measured(start, end time.Time) time.Duration {
	if r.LoadStart.IsZero() || r.LoadEnd.IsZero() {
		return 0
	}
	from := r.LoadStart.Round(0).Add(r.Load.WarmUp)
	to := r.LoadEnd.Round(0).Add(-r.Load.CoolDown)
	if start = start.Round(0); start.After(from) {
		from = start
	}
	if end = end.Round(0); end.Before(to) {
		to = end
	}
	return max(to.Sub(from), 0)
}

// boundBy returns r with a load's start and end that a killed run did not record
// set to the bounds of its recorded seconds.
func (r *DatabaseRun) boundBy(intervals []Interval) *DatabaseRun {
	if len(intervals) == 0 || (!r.LoadStart.IsZero() && !r.LoadEnd.IsZero()) {
		return r
	}
	first, last := intervals[0].Second, intervals[0].Second
	for i := range intervals {
		first, last = min(first, intervals[i].Second), max(last, intervals[i].Second)
	}
	bound := *r
	if r.LoadStart.IsZero() {
		bound.LoadStart = time.Unix(first, 0)
	}
	if r.LoadEnd.IsZero() {
		// Nothing was cut from an end that was not reached.
		bound.Load.CoolDown = 0
		bound.LoadEnd = time.Unix(last+1, 0)
	}
	return &bound
}
