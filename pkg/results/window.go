package results

import (
	"maps"
	"slices"
	"time"
)

// Timing returns the timing for a step's figures: see [TimingOf].
func (r *DatabaseRun) Timing(step int) Timing {
	rate := r.Load.Rate
	for _, s := range r.Steps {
		if s.Index == step && s.Rate > 0 {
			rate = s.Rate
		}
	}
	return TimingOf(rate > 0)
}

// Measured returns the measured window of a recorded step. It begins when the warm-up ends. With a
// duration it ends when issuing ended or the cool-down began, whichever was first, so that a
// straggler does not lengthen it; without a duration it ends just after the last answer. It
// includes from and excludes to.
//
// Requests per second are the requests that ended ok in the window over its length. The
// window is in wall-clock time, because a record must give the same window in memory and
// when read back from the manifest; from is never after to.
func (r *DatabaseRun) Measured(s Step) (from, to time.Time) {
	start := s.Start.Round(0)
	from, to = start.Add(r.Load.WarmUp), s.End.Round(0)
	if d := r.duration(&s); d > 0 {
		if issue := s.IssueEnd.Round(0); !issue.IsZero() && issue.Before(to) {
			to = issue
		}
		if planned := start.Add(d - r.Load.CoolDown); planned.Before(to) {
			to = planned
		}
	}
	if to.Before(from) {
		from = to
	}
	return from, to
}

// duration returns the time for which a step was planned to issue requests, 0 if only their number
// bounded it.
func (r *DatabaseRun) duration(s *Step) time.Duration {
	if s.Duration == 0 && len(r.Steps) == 1 {
		return r.Load.Duration
	}
	return s.Duration
}

// recordedSpans returns measured windows in recorded steps, by step.
func (r *DatabaseRun) recordedSpans() map[int]span {
	spans := map[int]span{}
	for _, s := range r.Steps {
		if !s.Start.IsZero() && !s.End.IsZero() {
			from, to := r.Measured(s)
			start := s.Start.Round(0)
			spans[s.Index] = span{int64(from.Sub(start)), int64(to.Sub(start))}
		}
	}
	return spans
}

// unrecordedSpan returns the measured window for a step not recorded by a killed run. The step
// lasted until its last row, which ended last nanoseconds after its start, or until its cool-down
// began.
func (r *DatabaseRun) unrecordedSpan(step int, last int64) span {
	s := span{int64(r.Load.WarmUp), last}
	if stretches := r.Load.Stretches(); step < len(stretches) && stretches[step].Duration > 0 {
		s.to = min(s.to, int64(stretches[step].Duration-r.Load.CoolDown))
	}
	s.from = min(s.from, s.to)
	return s
}

// windows returns how long measured windows are in all steps, by step, for records without
// progress. A step not recorded by a killed run lasted for the seconds that its intervals cover.
// Intervals of steps that keep does not accept are left out.
func (r *DatabaseRun) windows(intervals []Interval, keep func(step int) bool) map[int]time.Duration {
	windows := map[int]time.Duration{}
	var end time.Time // when the step before ended
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
		if _, ok := recorded[v.Step]; ok || v.Phase != PhaseMeasure || !keep(v.Step) {
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

// span is a step's measured window, in nanoseconds after its start.
type span struct{ from, to int64 }

func (s span) length() int64 { return max(s.to-s.from, 0) }

// seconds counts the whole seconds in the window.
func (s span) seconds() int64 { return s.length() / int64(time.Second) }

// second returns the whole second of the window to which a row belongs, from 0. A window shorter
// than a second counts as one second.
func (s span) second(p *Progress) int64 {
	return min((p.FromNS-s.from)/int64(time.Second), max(s.seconds()-1, 0))
}

// holds reports whether a row lies in the window.
func (s span) holds(p *Progress) bool { return p.FromNS >= s.from && p.ToNS <= s.to }
