package cause

import (
	"fmt"

	"github.com/coreos/dbtester/analyze/run"
)

// outsideRule names what lies between clients and members. Forwarding by members is part of it.
func outsideRule() Rule {
	return Rule{
		Name: "outside", Words: "the way from the clients to the leader and back", Lines: []string{nameOutside}, Over: over, Partly: partly,
		Numbers: func(f *Facts) string { return fmt.Sprintf("of a request, %s were in the members", millis(f.Inside)) },
	}
}

// outside leaves the time inside the members. At least the part is outside in which no thread of
// clients and members waited for a processor. On a machine that they share, the work of processors
// is no property of the way either.
func outside(f *Facts, at above) run.Measure {
	if !f.Inside.Known() {
		return f.Inside
	}
	m := run.Measured(at.left-f.Inside.Value, f.Inside.N)
	loads := []run.Measure{f.Members.Waiting, f.Clients.Waiting}
	if f.Shared {
		loads = append(loads, f.Members.Used, f.Clients.Used)
	}
	return atLeast(m, m.Value-f.most(loads...)*at.left-f.uncounted())
}

// uncounted is how much longer a time may be that members count in whole milliseconds.
func (f *Facts) uncounted() float64 {
	if f.Whole {
		return 1
	}
	return 0
}
