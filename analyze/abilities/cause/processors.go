package cause

import (
	"fmt"

	"github.com/coreos/dbtester/analyze/run"
)

// processorsRule names the processors in the leader's machine.
func processorsRule() Rule {
	return Rule{
		Name: "processors", Words: "too few processors for the leader", Shared: sharedProcessors, Lines: []string{nameProcessors}, Over: over, Partly: partly,
		Numbers: func(f *Facts) string {
			if f.saturated() {
				return fmt.Sprintf("%.0f %% of the %.0f were used", 100*f.Busy.Value, f.Processors.Value)
			}
			return fmt.Sprintf("%.1f of its threads waited at any time", f.Waiting.Value)
		},
		AtLeast: func(f *Facts) float64 {
			if !f.saturated() {
				return 0
			}
			return 100 * min(f.Busy.Value, 1)
		},
	}
}

// saturation is the used share at which processors limit a closed loop, whatever else takes time.
const saturation = .75

// saturated reports whether the clients in a closed loop use nearly all processors. If each of N
// clients always has a request, and a request needs D processor seconds on m processors, then the
// mean response time is at least N*D/m, even if nothing else takes time. As a share of the response
// time, this equals the used share of the processors (asymptotic bounds: Denning and Buzen, The
// Operational Analysis of Queueing Network Models, ACM Computing Surveys 10, 1978).
func (f *Facts) saturated() bool {
	return !f.Service.Known() && f.Busy.Known() && f.Busy.Value >= saturation
}

// processors returns an upper bound, so the low bound is 0.
func processors(f *Facts, at above) run.Measure {
	if !f.Waiting.Known() {
		return f.Waiting
	}
	m := run.Measured(f.most(f.Waiting)*max(at.left, 0), f.Waiting.N)
	m.High = m.Value + at.unsure
	return m
}
