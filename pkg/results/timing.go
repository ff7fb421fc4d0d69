package results

import (
	"fmt"

	"github.com/coreos/dbtester/pkg/workload"
)

// Timing is the moment from which a latency counts. It is the prefix of the columns, and the first
// word of the tags in histogram logs.
type Timing string

// The timings.
const (
	// TimingResponse counts from when the request was due.
	TimingResponse Timing = "response"
	// TimingService counts from when the driver was called.
	TimingService Timing = "service"
)

// Timings lists all timings in the order of the columns.
var Timings = [...]Timing{TimingResponse, TimingService}

// timing declares where records hold a timing, in nanoseconds. The columns of intervals.csv and
// members.csv, and the sums of rows, follow from it.
type timing struct {
	name  Timing
	rated bool // only steps with a rate have it
	// latencies are those of a second, by outcome; extent is of a member's ok requests.
	latencies func(*Interval) *[3]Latency
	extent    func(*MemberSecond) *Extent
}

// TimingOf returns the timing of a step's figures: from due where requests have due times, else
// from sent, because a request of a closed loop is due when it is sent.
func TimingOf(rated bool) Timing {
	for _, t := range timings() {
		if t.rated == rated {
			return t.name
		}
	}
	return TimingService
}

// timings declares each of [Timings], in their order.
func timings() [len(Timings)]timing {
	return [...]timing{
		{TimingResponse, true, func(i *Interval) *[3]Latency { return &i.Response }, func(m *MemberSecond) *Extent { return &m.Response }},
		{TimingService, false, func(i *Interval) *[3]Latency { return &i.Service }, func(m *MemberSecond) *Extent { return &m.Service }},
	}
}

// Latency returns the recorded latencies of a timing and an outcome.
func (i *Interval) Latency(t Timing, o workload.Outcome) *Latency {
	for _, declared := range timings() {
		if declared.name == t {
			return &declared.latencies(i)[o]
		}
	}
	panic(fmt.Sprintf("timing %q is not declared", t))
}

// Merge adds the requests of another row.
func (m *MemberSecond) Merge(o *MemberSecond) {
	for _, t := range timings() {
		to, from := t.extent(m), t.extent(o)
		if o.OK > 0 && (m.OK == 0 || from.MinNS < to.MinNS) {
			to.MinNS = from.MinNS
		}
		to.MaxNS = max(to.MaxNS, from.MaxNS)
		to.SumNS += from.SumNS
	}
	m.OK += o.OK
	m.Failed += o.Failed
	m.Unknown += o.Unknown
}
