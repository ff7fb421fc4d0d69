package results

import (
	"cmp"
	"iter"
	"slices"
)

// Phase is the part of a step in which a request was due; only requests of the phase
// measure enter the figures. The second in which a request ends does not matter.
type Phase string

// The phases.
const (
	PhaseWarmUp   Phase = "warm-up"
	PhaseMeasure  Phase = "measure"
	PhaseCoolDown Phase = "cool-down"
)

// Interval is one second of one step, phase and operation: one row of
// intervals.csv. Counts are of the events in that second.
type Interval struct {
	// Second is the unix second in the client's clock.
	Second    int64
	Step      int
	Phase     Phase
	Operation string
	Clients   int

	// Due counts requests whose due time lies in the second; Sent counts requests whose
	// driver call began in it; OK, Failed and Unknown count requests that ended in it.
	Due, Sent, OK, Failed, Unknown int64
	Shed, Unsent                   int64
	// Queued counts requests sent in this second whose due time had passed while every
	// client, or with bind: client their own, was busy. Late counts requests that the client
	// itself sent more than a millisecond after due: a client was free and woke late, or all
	// were busy only because the client had been stopped.
	Queued, Late int64
	// Backlog and InFlight are gauges of the operation at the end of the second.
	// KeysCumulative counts the keys that all operations created since the load began. The
	// three are in the last row that the operation has in a second and are 0 in others;
	// [Gauges] adds them up.
	Backlog, InFlight, KeysCumulative int64

	// WaitingNS is the clients' time without a server, over all operations. It is in the row
	// of a phase's first operation.
	WaitingNS int64
	// GapNS is how long the client's process did not run. It covers the whole step and is in
	// the second's first row.
	GapNS int64

	// WrittenBytes are the bytes of the keys and values that the ok requests wrote.
	WrittenBytes int64

	// Response is timed from due, Service from sent; indexed by [Outcome]. A closed
	// loop records service only.
	Response, Service [3]Latency
}

// Gauge is the state of a load at the end of a second, over all operations.
type Gauge struct {
	Second int64
	// Backlog counts requests that were due and not sent, InFlight requests that were sent
	// and had not ended.
	Backlog, InFlight int64
	// KeysCumulative counts the keys that were created since the load began.
	KeysCumulative int64
}

// BySecond yields the intervals of each second together, seconds ascending; the intervals
// of one second are in the order of the file. A slice is valid until the next.
func BySecond(intervals []Interval) iter.Seq[[]*Interval] {
	return func(yield func([]*Interval) bool) {
		place := func(i int) int { return i }
		if !inOrder(intervals) {
			order := make([]int, len(intervals))
			for i := range order {
				order[i] = i
			}
			slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(intervals[a].Second, intervals[b].Second) })
			place = func(i int) int { return order[i] }
		}
		var rows []*Interval
		for i := range intervals {
			v := &intervals[place(i)]
			if len(rows) > 0 && rows[0].Second != v.Second {
				if !yield(rows) {
					return
				}
				rows = rows[:0]
			}
			rows = append(rows, v)
		}
		if len(rows) > 0 {
			yield(rows)
		}
	}
}

// inOrder reports whether the seconds of intervals never decrease.
func inOrder(intervals []Interval) bool {
	for i := 1; i < len(intervals); i++ {
		if intervals[i].Second < intervals[i-1].Second {
			return false
		}
	}
	return true
}

// Gauges returns the gauges of the seconds that intervals, in the order of their
// file, cover: one for each, ascending.
func Gauges(intervals []Interval) (out []Gauge) {
	for rows := range BySecond(intervals) {
		g := Gauge{Second: rows[0].Second}
		for i, v := range rows {
			if slices.ContainsFunc(rows[i+1:], func(later *Interval) bool { return later.Operation == v.Operation }) {
				continue
			}
			g.Backlog += v.Backlog
			g.InFlight += v.InFlight
			g.KeysCumulative = max(g.KeysCumulative, v.KeysCumulative)
		}
		out = append(out, g)
	}
	return slices.Clip(out)
}
