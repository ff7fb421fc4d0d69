package results

import (
	"github.com/coreos/dbtester/pkg/workload"
)

// Extent is the sum and the extremes of latencies, in nanoseconds.
type Extent struct{ SumNS, MinNS, MaxNS int64 }

// Add adds a latency; count includes it.
func (e *Extent) Add(count, ns int64) {
	if count == 1 || ns < e.MinNS {
		e.MinNS = ns
	}
	e.MaxNS = max(e.MaxNS, ns)
	e.SumNS += ns
}

// MemberSecond counts one member's answers in one second of a step and phase: one row of
// members.csv. A request belongs to the member its connection went to when it was sent. Rows
// without a request are left out.
type MemberSecond struct {
	// Second is the unix second in the client clock.
	Second int64
	Step   int
	Phase  Phase
	// Member is an index as in the manifest, from 0; -1 if it is not known.
	Member int
	// OK, Failed and Unknown count requests that ended in the second.
	OK, Failed, Unknown int64
	// Response and Service cover the ok requests. A closed loop has service only.
	Response, Service Extent
}

// Count counts a request.
func (m *MemberSecond) Count(o workload.Outcome) {
	switch o {
	case workload.OK:
		m.OK++
	case workload.Failed:
		m.Failed++
	default:
		m.Unknown++
	}
}
