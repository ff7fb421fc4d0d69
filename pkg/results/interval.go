package results

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
	// Backlog and InFlight are gauges at the end of the second, KeysCumulative the
	// OK writes since the load began.
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
