package results

import (
	"maps"
	"slices"
	"time"
)

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

// Measured is when a recorded step's measured population was served: from the end
// of the step's warm-up until its last answer, or until its cool-down began.
// Requests per second are counts over this. It is the wall clock's time, because
// the same record must give the same in memory and read back from the manifest;
// from is never after to.
func (r *DatabaseRun) Measured(s Step) (from, to time.Time) {
	start := s.Start.Round(0)
	from, to = start.Add(r.Load.WarmUp), s.End.Round(0)
	duration := s.Duration
	if duration == 0 && len(r.Steps) == 1 {
		duration = r.Load.Duration
	}
	// Only a step with a duration has a cool-down: others end when they are done.
	if r.Load.CoolDown > 0 && duration > 0 {
		if coolDown := start.Add(duration - r.Load.CoolDown); coolDown.Before(to) {
			to = coolDown
		}
	}
	if to.Before(from) {
		from = to
	}
	return from, to
}

// windows are the lengths of all steps' measured time, by step. A step that a
// killed run did not record lasted for the seconds that its intervals cover.
func (r *DatabaseRun) windows(intervals []Interval) map[int]time.Duration {
	windows := map[int]time.Duration{}
	var end time.Time // of the step before
	for _, s := range r.Steps {
		if !s.Start.IsZero() && !s.End.IsZero() {
			from, to := r.Measured(s)
			windows[s.Index], end = to.Sub(from), to
		}
	}
	recorded := maps.Clone(windows)
	covered := map[int][2]int64{} // first and last second by unrecorded step
	for i := range intervals {
		v := &intervals[i]
		if _, ok := recorded[v.Step]; ok || v.Phase != PhaseMeasure {
			continue
		}
		c, ok := covered[v.Step]
		if !ok {
			c = [2]int64{v.Second, v.Second}
		}
		covered[v.Step] = [2]int64{min(c[0], v.Second), max(c[1], v.Second)}
	}
	for _, step := range slices.Sorted(maps.Keys(covered)) {
		from, to := time.Unix(covered[step][0], 0), time.Unix(covered[step][1]+1, 0)
		if from.Before(end) {
			from = end // two steps share a second: it is counted once
		}
		windows[step] = max(to.Sub(from), 0)
		end = to
	}
	return windows
}
