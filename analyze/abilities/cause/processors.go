package cause

import (
	"fmt"

	"github.com/coreos/dbtester/analyze/run"
)

// processorsRule names the processors of the leader's machine.
func processorsRule() Rule {
	return Rule{
		Name: "processors", Words: "too few processors for the leader", Shared: sharedProcessors, Lines: []string{nameProcessors}, Over: over, Partly: partly,
		Numbers: func(f *Facts) string { return fmt.Sprintf("%.1f of its threads waited at any time", f.Waiting.Value) },
	}
}

// processors is an upper bound, so that its lower one is 0.
func processors(f *Facts, at above) run.Measure {
	if !f.Waiting.Known() {
		return f.Waiting
	}
	m := run.Measured(f.most(f.Waiting)*max(at.left, 0), f.Waiting.N)
	m.High = m.Value + at.unsure
	return m
}
