package control

import (
	"slices"
	"testing"
)

// Every fact needed by a step is left by an earlier step, in every kind of run. Skipped steps give
// nothing: their facts already hold, or are not needed.
func TestStepsInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, database := range []string{
		"fake: {}", "fake: {steps: {start: false}}", "fake: {steps: {stop: false}}", "fake: {steps: {load: false}}",
		"fake: {install: true, version: v1.0.0}",
	} {
		e := r.experiment(small + "databases: {" + database + "}")
		run, err := newRun(e, r.registry, &e.Databases[0], &journal{})
		if err != nil {
			t.Fatalf("make the run: %v", err)
		}
		steps := newParts(r.options(e, nil), run, nil).steps()
		for i, s := range steps {
			for _, need := range s.needs {
				giver := slices.IndexFunc(steps, func(g step) bool { return slices.Contains(g.gives, need) })
				if giver < 0 || giver >= i {
					t.Errorf("%s: step %q needs %q, which no step before it gives", database, s.name, need)
				}
			}
		}
	}
}
