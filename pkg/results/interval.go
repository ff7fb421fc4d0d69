package results

import "time"

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

	// Response is timed from due, Service from sent; indexed by outcome (ok,
	// failed, unknown). A closed loop records service only.
	Response, Service [3]Latency
}

// Latency summarizes the latencies that ended in one interval. Sums, minimum and
// maximum are exact; percentiles come from a histogram of three significant
// digits and are 0 when Count is 0.
type Latency struct {
	Count int64
	SumNS int64
	// SumSqMS2 is the sum of squares in square milliseconds.
	SumSqMS2            float64
	MinNS, MaxNS        int64
	P50, P90, P99, P999 int64 // nanoseconds
}

// ErrorCount is one row of errors.csv: how often a class of error ended a
// request in one second. FirstText and FirstTime are set once per class and step.
type ErrorCount struct {
	Second    int64
	Step      int
	Operation string
	Class     string
	Count     int64
	FirstText string
	FirstTime time.Time
}

// Event is one line of events.jsonl: something that happened besides requests.
type Event struct {
	Time time.Time `json:"time"`
	// Kind is a short stable word: "start", "ready", "load start", "leader",
	// "client step", "child died".
	Kind   string `json:"kind"`
	Member int    `json:"member"` // from 0; -1: the whole cluster or the client
	Text   string `json:"text,omitempty"`
}
