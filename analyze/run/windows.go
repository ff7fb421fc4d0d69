package run

import (
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Span is half-open, in unix nanoseconds by the client clock.
type Span struct{ From, To int64 }

func (s Span) empty() bool      { return s.To <= s.From }
func (s Span) seconds() float64 { return float64(s.To-s.From) / 1e9 }

// Windows are the times of a load.
type Windows struct {
	// Load reaches from the start of the first step to the end of the last.
	Load Span
	// Measured are the parts that count: one per step or, for classic files without a manifest, one
	// per client count.
	Measured []Window
	// Changes are when steps or, for classic files, new client counts start. A load with one step
	// has no changes.
	Changes []Change
}

// Window is the measured part of one step.
type Window struct {
	Span
	// Issued is the step including warm-up and cool-down, until its last request was sent.
	Issued  Span
	Clients int
	Rated   bool // requests were due at a rate
	Down    bool // on the way back of a sweep
	// Inside is the time that clients spent inside calls, in nanoseconds, clipped to Issued.
	Inside Measure
	// Waiting is the time that clients had no server, in nanoseconds, clipped to the measured part.
	Waiting int64
}

// capacity is the time that clients had a server, in nanoseconds.
func (w Window) capacity() float64 {
	return float64(w.Clients)*w.Issued.seconds()*1e9 - float64(w.Waiting)
}

// InsidePercent is the percentage of client time spent inside calls.
func (w Window) InsidePercent() Measure {
	if !w.Inside.Known() || w.capacity() <= 0 {
		return notInside
	}
	return Measured(100*(w.Inside.Value/w.capacity()), 0)
}

var notInside = Missing("the time inside calls was not recorded")

// Change is when a step started, in unix nanoseconds.
type Change struct {
	At    int64
	Label string
}

// Closed returns the windows from closed-loop steps.
func (w *Windows) Closed() []Window {
	return slices.DeleteFunc(slices.Clone(w.Measured), func(one Window) bool { return one.Rated })
}

// InsidePercent is the percentage of client time spent inside calls, over all closed-loop steps.
func (w *Windows) InsidePercent() Measure {
	var inside, capacity float64
	closed := w.Closed()
	for _, one := range closed {
		if !one.InsidePercent().Known() {
			return notInside
		}
		inside += one.Inside.Value
		capacity += one.capacity()
	}
	if capacity == 0 {
		return notInside
	}
	return Measured(100*inside/capacity, int64(len(closed)))
}

// Whole reports whether a second lies inside the measured window of one step, so that its
// throughput belongs to one client count.
func (w *Windows) Whole(unix int64) bool {
	from, to := unix*1e9, (unix+1)*1e9
	return slices.ContainsFunc(w.Measured, func(one Window) bool { return one.From <= from && to <= one.To })
}

// Inside reports whether a second lies inside the steps, each including warm-up and cool-down until
// its last request was sent. Up to a twentieth of the second may lie between two steps.
func (w *Windows) Inside(unix int64) bool {
	from, to := unix*1e9, (unix+1)*1e9
	var inside int64
	for _, one := range w.Measured {
		inside += max(0, min(one.Issued.To, to)-max(one.Issued.From, from))
	}
	return inside >= 95e7
}

// WayBack reports whether a second touches the way back of a sweep, which ends the load, or comes
// after it.
func (w *Windows) WayBack(unix int64) bool {
	return slices.ContainsFunc(w.Measured, func(one Window) bool { return one.Down && one.Issued.From < (unix+1)*1e9 })
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// recordedWindows returns the windows of the recorded steps. Times that a killed run did not write
// are derived from the recorded seconds.
func recordedWindows(record *results.DatabaseRun, recorded Span, gaps *Gaps) Windows {
	w := Windows{Load: recorded}
	if !record.LoadStart.IsZero() {
		w.Load.From = record.LoadStart.UnixNano()
	}
	if !record.LoadEnd.IsZero() {
		w.Load.To = record.LoadEnd.UnixNano()
	} else if !recorded.empty() {
		gaps.Add("the manifest does not say when the load ended; it is taken from %s", results.FileIntervals)
	}
	steps := record.Steps
	if len(steps) == 0 {
		steps = []results.Step{{Step: workload.Step{Clients: record.Load.Clients}, Start: time.Unix(0, w.Load.From), InsideNS: -1}}
	}
	for _, s := range steps {
		if s.Start.IsZero() { // never began
			continue
		}
		if one := measuredPart(record, s, w.Load.To); !one.empty() {
			w.Measured = append(w.Measured, one)
		}
	}
	return w
}

// measuredPart returns the measured part of a step. A step without an end lasts until the load
// ends, and no cool-down is subtracted.
func measuredPart(record *results.DatabaseRun, s results.Step, loadEnd int64) Window {
	w := Window{Issued: Span{s.Start.UnixNano(), loadEnd}, Clients: s.Clients, Rated: record.Timing(s.Index) == results.TimingResponse, Down: s.Down, Inside: notInside, Waiting: s.WaitingNS}
	if s.InsideNS >= 0 {
		w.Inside = Counted(s.InsideNS)
	}
	w.Span = Span{w.Issued.From + int64(record.Load.WarmUp), loadEnd}
	if !s.End.IsZero() {
		from, to := record.Measured(s)
		w.Span, w.Issued.To = Span{from.UnixNano(), to.UnixNano()}, s.End.UnixNano()
	}
	if !s.IssueEnd.IsZero() {
		w.Issued.To = s.IssueEnd.UnixNano()
	}
	return w
}

// recordedSpan covers the recorded seconds.
func recordedSpan(intervals []results.Interval) Span {
	if len(intervals) == 0 {
		return Span{}
	}
	first, last := intervals[0].Second, intervals[0].Second
	for i := range intervals {
		first, last = min(first, intervals[i].Second), max(last, intervals[i].Second)
	}
	return Span{first * 1e9, (last + 1) * 1e9}
}
