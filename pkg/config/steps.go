package config

import (
	"cmp"
	"time"

	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// stepped resolves a load with several steps. Its requests and duration are divided among the steps
// that give neither.
func (r *loadResolver) stepped(l *workload.Load) {
	specs := r.spec.Is.steps
	if len(specs) == 0 {
		r.Errorf(r.spec.NodeOf("steps"), "%s: the list is empty", r.spec.Called("steps"))
		return
	}
	requests, durations := r.shareRequests(specs, l.Requests), r.shareDuration(specs, l.Duration)
	rateEnd, ramp := l.RateEnd, l.Ramp
	l.Requests, l.Duration, l.Clients, l.Connections, l.RateEnd, l.Ramp = 0, 0, 0, 0, 0, 0
	for i, s := range specs {
		step := s.Is
		step.Requests += requests[i]
		step.Duration += durations[i]
		rateEndAt, rampAt := s.NodeOf("rate_end"), cmp.Or(s.NodeOf("ramp"), r.spec.NodeOf("ramp"))
		if !s.Has("rate") { // rate_end belongs to the load's rate
			step.Rate = l.Rate
			if rateEndAt == nil {
				step.RateEnd, rateEndAt = rateEnd, r.spec.NodeOf("rate_end")
			}
		}
		if !s.Has("ramp") {
			step.Ramp = ramp
		}
		r.changes(step, rateEndAt, rampAt)
		if !s.Has("clients") {
			r.Errorf(s.Node, "step: clients is missing")
		} else {
			r.someClients(s, step.Clients, step.Requests)
		}
		if step.Requests == 0 && step.Duration == 0 {
			r.Errorf(s.Node, "step: requests or duration must be positive, both are 0")
		}
		step.Connections = r.stepConnections(s, step.Clients)
		l.Steps = append(l.Steps, step)
		l.Requests += step.Requests
		l.Duration += step.Duration
		l.Clients = max(l.Clients, step.Clients)
		l.Connections = max(l.Connections, step.Connections)
	}
}

// stepConnections resolves the connections in a step. The number for the load is the largest that a
// step uses.
func (r *loadResolver) stepConnections(s written[workload.Step], clients int) int {
	if s.Has("connections") || !r.spec.Has("connections") {
		return r.connections(s.Place("connections"), s.Is.Connections, clients)
	}
	return r.connections(r.spec.Place("connections"), min(r.spec.Is.Connections, clients), clients)
}

// unshared returns what the steps leave of a total, and the indexes of the steps that share it:
// those that give neither requests nor a duration.
func unshared[N int64 | time.Duration](specs []written[workload.Step], total N, own func(workload.Step) N) (rest N, opened []int) {
	for i, s := range specs {
		total -= own(s.Is)
		if !s.Has("requests") && !s.Has("duration") {
			opened = append(opened, i)
		}
	}
	return total, opened
}

// shareRequests returns the share of requests for each open step.
func (r *loadResolver) shareRequests(specs []written[workload.Step], total int64) []int64 {
	shares := make([]int64, len(specs))
	rest, opened := unshared(specs, total, func(s workload.Step) int64 { return s.Requests })
	at, key := r.at("requests", "steps"), r.spec.Called("requests")
	switch {
	case len(opened) == 0 && r.spec.Has("requests") && rest != 0:
		r.Errorf(at, "%s: %d, but the steps' own come to %d", key, total, total-rest)
	case len(opened) > 0 && total > 0 && rest < int64(len(opened)):
		r.Errorf(at, "%s: %d are too few for the steps", key, total)
	case len(opened) > 0 && total > 0:
		for n, part := range split(rest, len(opened)) {
			shares[opened[n]] = part
		}
	}
	return shares
}

// shareDuration returns the share of the duration for each open step.
func (r *loadResolver) shareDuration(specs []written[workload.Step], total time.Duration) []time.Duration {
	shares := make([]time.Duration, len(specs))
	if total == 0 {
		return shares
	}
	rest, opened := unshared(specs, total, func(s workload.Step) time.Duration { return s.Duration })
	at := r.spec.NodeOf("duration")
	switch {
	case len(opened) == 0 && rest != 0:
		r.Errorf(at, "duration: %s, but the steps' own come to %s", total, total-rest)
	case len(opened) > 0 && rest < time.Duration(len(opened))*time.Millisecond:
		r.Errorf(at, "duration: %s is too short for the steps", total)
	case len(opened) > 0:
		part := (rest / time.Duration(len(opened))).Truncate(time.Millisecond)
		for _, i := range opened {
			shares[i] = part
			rest -= part
		}
		shares[opened[len(opened)-1]] += rest
	}
	return shares
}

// stepKey has values of type T.
type stepKey[T any] = key[workload.Step, T]

// stepSection declares step keys. To add one, add it here and to [workload.Step].
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
			Row:  row{Name: "rate_end", Usually: "the load's", Meaning: "a step with its own `rate` does not take it from the load"},
			Kind: yamlfile.PerSecondKind(), At: func(s *workload.Step) *float64 { return &s.RateEnd },
			Shown: func(s *workload.Step) bool { return s.RateEnd > 0 },
		}.Field(),
		stepKey[time.Duration]{
			Row:  row{Name: "ramp", Usually: "the load's"},
			Kind: yamlfile.DurationKind(), At: func(s *workload.Step) *time.Duration { return &s.Ramp },
			Shown: func(s *workload.Step) bool { return s.Ramp > 0 },
		}.Field(),
		stepKey[bool]{
			Row:  row{Name: "down", Preset: "false", Meaning: "the way back of a [sweep](sweep.md): reported separately from the same step on the way up"},
			Kind: yamlfile.TruthKind(), At: func(s *workload.Step) *bool { return &s.Down },
			Shown: func(s *workload.Step) bool { return s.Down },
		}.Field(),
	}}
}

// stepList is a list of steps whose values have their places.
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
