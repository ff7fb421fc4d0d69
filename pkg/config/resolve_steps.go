package config

import (
	"cmp"
	"time"

	"github.com/coreos/dbtester/pkg/workload"
)

// stepped resolves a load of several stretches. Requests and duration of the
// load are shared out among the steps that have neither of their own.
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
		if !s.Has("rate") { // the load's end belongs to the load's rate
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

// stepConnections resolves a step's connections. The load's own number is the
// largest that a step uses.
func (r *loadResolver) stepConnections(s written[workload.Step], clients int) int {
	if s.Has("connections") || !r.spec.Has("connections") {
		return r.connections(s.Place("connections"), s.Is.Connections, clients)
	}
	return r.connections(r.spec.Place("connections"), min(r.spec.Is.Connections, clients), clients)
}

// open reports whether a step leaves its end to the load's.
func open(s written[workload.Step]) bool { return !s.Has("requests") && !s.Has("duration") }

// shareRequests returns the requests that each open step gets of the load's.
func (r *loadResolver) shareRequests(specs []written[workload.Step], total int64) []int64 {
	shares := make([]int64, len(specs))
	var opened []int
	rest := total
	for i, s := range specs {
		rest -= s.Is.Requests
		if open(s) {
			opened = append(opened, i)
		}
	}
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

// shareDuration returns the duration that each open step gets of the load's.
func (r *loadResolver) shareDuration(specs []written[workload.Step], total time.Duration) []time.Duration {
	shares := make([]time.Duration, len(specs))
	if total == 0 {
		return shares
	}
	var opened []int
	rest := total
	for i, s := range specs {
		rest -= s.Is.Duration
		if open(s) {
			opened = append(opened, i)
		}
	}
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
