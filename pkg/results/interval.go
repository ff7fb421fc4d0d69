package results

import (
	"maps"
	"slices"
)

// Phase says whether a request belongs to the measured population. It belongs to
// the request's due time, not to the second it completes in.
type Phase string

// The phases.
const (
	PhaseWarmUp   Phase = "warm-up"
	PhaseMeasure  Phase = "measure"
	PhaseCoolDown Phase = "cool-down"
)

// Interval is one second of one step, phase and operation: one row of
// intervals.csv. Counts are of what happened in that second.
type Interval struct {
	// Second is the unix second in the client's clock.
	Second    int64
	Step      int
	Phase     Phase
	Operation string
	Clients   int

	// Due counts requests whose due time lies in the second; Sent those whose
	// driver call began in it; OK, Failed, Unknown those that ended in it.
	Due, Sent, OK, Failed, Unknown int64
	Shed, Unsent                   int64
	// Queued counts requests sent in this second whose due time had passed while
	// every client was busy; Late those whose client was free and woke more than
	// a millisecond after due.
	Queued, Late int64
	// Backlog and InFlight are gauges of the operation at the end of the second,
	// KeysCumulative the keys that all operations created since the load began. They
	// stand in the last row that the operation has in a second and are 0 in others;
	// [Gauges] adds them up.
	Backlog, InFlight, KeysCumulative int64

	// Response is timed from due, Service from sent; indexed by [Outcome]. A closed
	// loop records service only.
	Response, Service [3]Latency
}

// Latency returns what the interval recorded for a timing and an outcome.
func (i *Interval) Latency(t Timing, o Outcome) *Latency {
	if t == TimingResponse {
		return &i.Response[o]
	}
	return &i.Service[o]
}

// Gauge is the state of a load at the end of a second, all operations together.
type Gauge struct {
	Second int64
	// Backlog are requests that were due and not sent, InFlight those sent and not
	// ended.
	Backlog, InFlight int64
	// KeysCumulative are the keys that were created since the load began.
	KeysCumulative int64
}

// Gauges returns the gauges of the seconds that intervals, in the order of their
// file, cover: one for each, ascending.
func Gauges(intervals []Interval) []Gauge {
	type place struct {
		second    int64
		operation string
	}
	last := map[place]*Interval{}
	seconds := map[int64]*Gauge{}
	for i := range intervals {
		v := &intervals[i]
		last[place{v.Second, v.Operation}] = v
		seconds[v.Second] = &Gauge{Second: v.Second}
	}
	for p, v := range last {
		g := seconds[p.second]
		g.Backlog += v.Backlog
		g.InFlight += v.InFlight
		g.KeysCumulative = max(g.KeysCumulative, v.KeysCumulative)
	}
	var out []Gauge
	for _, second := range slices.Sorted(maps.Keys(seconds)) {
		out = append(out, *seconds[second])
	}
	return out
}
