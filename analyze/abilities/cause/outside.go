package cause

import (
	"fmt"

	"github.com/coreos/dbtester/analyze/run"
)

// outsideRule names the way between clients and the leader, including forwarding by members.
func outsideRule() Rule {
	return Rule{
		Name: "outside", Words: "the way from the clients to the leader and back", Lines: []string{nameOutside}, Over: over, Partly: partly,
		Numbers: func(f *Facts) string { return fmt.Sprintf("of a request, %s were in the members", millis(f.Inside)) },
	}
}

// outside leaves the time inside the members. The lower bound counts only the time in which no
// client or member thread waited for a processor and no quota stopped a member: a stopped member
// does not read requests. If clients and members share a machine, the time in which its processors
// worked is left out too. Where all clients are connected to the leader, other members are not on
// the way. Clients that use nearly all their processors may let answers wait in their own runtime,
// which no thread shows.
func outside(f *Facts, at above) run.Measure {
	if !f.Inside.Known() {
		return f.Inside
	}
	m := run.Measured(at.left-f.Inside.Value, f.Inside.N)
	members := f.Members
	switch {
	case f.ClientsBusy.Known() && f.ClientsBusy.Value >= saturation:
		return atLeast(m, 0)
	case f.Direct:
		members = Load{f.Waiting, f.Used}
	case f.Periods.Known(): // the time in which the quota stopped the others is unknown
		return atLeast(m, 0)
	}
	loads := []run.Measure{members.Waiting, f.Clients.Waiting}
	if f.Throttled.Known() { // members may have no quota
		loads = append(loads, f.Throttled)
	}
	if f.Shared {
		loads = append(loads, members.Used, f.Clients.Used)
	}
	return atLeast(m, m.Value-f.most(loads...)*at.left-f.uncounted())
}

// uncounted bounds the error, in milliseconds, in a time that members may truncate to whole
// milliseconds.
func (f *Facts) uncounted() float64 {
	if f.Whole {
		return 1
	}
	return 0
}
