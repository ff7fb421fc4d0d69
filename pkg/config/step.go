package config

import (
	"time"

	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// stepKey has values of type T.
type stepKey[T any] = key[workload.Step, T]

// stepSection declares every key of a step. To add one, add it here and to
// [workload.Step].
func stepSection() section[workload.Step] {
	return section[workload.Step]{Fields: []field[workload.Step]{
		stepKey[int]{
			Row:  row{Name: "clients", Unit: "clients", Usually: "required"},
			Kind: yamlfile.SmallKind(), At: func(s *workload.Step) *int { return &s.Clients },
		}.Field(),
		stepKey[int]{
			Row:  row{Name: "connections", Unit: "connections", Usually: "as above", Meaning: "at most the load's, if that gives some"},
			Kind: yamlfile.SmallKind(), At: func(s *workload.Step) *int { return &s.Connections },
		}.Field(),
		stepKey[int64]{
			Row: row{Name: "requests", Unit: "requests", Usually: "a share of the load's",
				Meaning: "steps with neither requests nor duration share the rest of the load's: equal parts, in whole ten thousands or thousands"},
			Kind: yamlfile.WholeKind(), At: func(s *workload.Step) *int64 { return &s.Requests },
			Shown: func(s *workload.Step) bool { return s.Requests > 0 },
		}.Field(),
		stepKey[time.Duration]{
			Row:  row{Name: "duration", Usually: "a share of the load's", Meaning: "the same in equal parts"},
			Kind: yamlfile.DurationKind(), At: func(s *workload.Step) *time.Duration { return &s.Duration },
			Shown: func(s *workload.Step) bool { return s.Duration > 0 },
		}.Field(),
		stepKey[float64]{
			Row:  row{Name: "rate", Usually: "the load's", Meaning: "0 makes this step a closed loop"},
			Kind: yamlfile.PerSecondKind(), At: func(s *workload.Step) *float64 { return &s.Rate },
		}.Field(),
		stepKey[float64]{
			Row:  row{Name: "rate_end", Usually: "the load's", Meaning: "not taken from the load by a step with a `rate` of its own"},
			Kind: yamlfile.PerSecondKind(), At: func(s *workload.Step) *float64 { return &s.RateEnd },
			Shown: func(s *workload.Step) bool { return s.RateEnd > 0 },
		}.Field(),
		stepKey[time.Duration]{
			Row:  row{Name: "ramp", Usually: "the load's"},
			Kind: yamlfile.DurationKind(), At: func(s *workload.Step) *time.Duration { return &s.Ramp },
			Shown: func(s *workload.Step) bool { return s.Ramp > 0 },
		}.Field(),
	}}
}

// stepList is a list of steps with the places of their values.
func stepList() kind[[]written[workload.Step]] {
	return kind[[]written[workload.Step]]{
		Parse: func(r *yamlfile.Reader, key string, node *yamlfile.Node) ([]written[workload.Step], bool) {
			items, ok := r.Items(key, node)
			if !ok {
				return nil, false
			}
			steps := []written[workload.Step]{}
			for _, item := range items {
				step := stepSection().Read(r, "", "step", item)
				step.Node = item
				steps = append(steps, step)
			}
			return steps, true
		},
		Nested: func() schema { return schema{"type": "array", "items": stepSection().Schema()} },
	}
}

// showSteps shows one step per line.
func showSteps(l *loadSpec) *yamlfile.Node {
	return yamlfile.ListNode(l.Steps, false, func(s workload.Step) *yamlfile.Node { return stepSection().Show(&s).Flow() })
}
