package config

import (
	"cmp"
	"time"
)

// stepped resolves a load of several stretches. Requests and duration of the
// load are shared out among the steps that have neither of their own.
func (r *loadResolver) stepped(l *Load) {
	specs := r.spec.steps.is
	if len(specs) == 0 {
		r.errorf(r.spec.steps.at, "%s: the list is empty", r.spec.steps.key)
		return
	}
	requests, durations := r.shareRequests(specs), r.shareDuration(specs)
	for i, s := range specs {
		step := Step{
			Clients:  s.clients.is,
			Requests: s.requests.is + requests[i],
			Duration: s.duration.is + durations[i],
			Rate:     s.rate.or(l.Rate),
		}
		rateEnd, ramp := pick(s.rateEnd, r.spec.rateEnd), pick(s.ramp, r.spec.ramp)
		if s.rate.set() {
			rateEnd = s.rateEnd // the load's belongs to the load's rate
		}
		step.RateEnd, step.Ramp = rateEnd.is, ramp.is
		r.changes(step, rateEnd, ramp)
		if !s.clients.set() {
			r.errorf(s.at, "step: clients is missing")
		} else {
			r.someClients(s.clients, step.Clients, step.Requests)
		}
		if step.Requests == 0 && step.Duration == 0 {
			r.errorf(s.at, "step: it ends after some requests or some duration; both are 0")
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
// most that any step uses.
func (r *loadResolver) stepConnections(s stepSpec, clients int) int {
	most := r.spec.connections
	if s.connections.set() || !most.set() {
		return r.connections(s.connections, s.clients, clients)
	}
	most.is = min(most.is, clients)
	return r.connections(most, s.clients, clients)
}

// open reports whether a step leaves its end to the load's.
func (s stepSpec) open() bool { return !s.requests.set() && !s.duration.set() }

// shareRequests returns the requests each open step gets.
func (r *loadResolver) shareRequests(specs []stepSpec) []int64 {
	shares := make([]int64, len(specs))
	total := r.spec.requests.is
	if !r.spec.requests.set() && !r.spec.duration.set() {
		total = DefaultRequests
	}
	var open []int
	rest := total
	for i, s := range specs {
		rest -= s.requests.is
		if s.open() {
			open = append(open, i)
		}
	}
	at, key := r.at(r.spec.requests.at, r.spec.steps.at), cmp.Or(r.spec.requests.key, "requests")
	switch {
	case len(open) == 0 && r.spec.requests.set() && rest != 0:
		r.errorf(at, "%s: %d, but the steps' own come to %d", key, total, total-rest)
	case len(open) > 0 && total > 0 && rest < int64(len(open)):
		r.errorf(at, "%s: %d are too few for the steps", key, total)
	case len(open) > 0 && total > 0:
		for n, part := range split(rest, len(open)) {
			shares[open[n]] = part
		}
	}
	return shares
}

// shareDuration returns the duration each open step gets.
func (r *loadResolver) shareDuration(specs []stepSpec) []time.Duration {
	shares := make([]time.Duration, len(specs))
	g := r.spec.duration
	if g.is == 0 {
		return shares
	}
	var open []int
	rest := g.is
	for i, s := range specs {
		rest -= s.duration.is
		if s.open() {
			open = append(open, i)
		}
	}
	switch {
	case len(open) == 0 && rest != 0:
		r.errorf(g.at, "duration: %s, but the steps' own come to %s", g.is, g.is-rest)
	case len(open) > 0 && rest < time.Duration(len(open))*time.Millisecond:
		r.errorf(g.at, "duration: %s is too short for the steps", g.is)
	case len(open) > 0:
		part := (rest / time.Duration(len(open))).Truncate(time.Millisecond)
		for _, i := range open {
			shares[i] = part
			rest -= part
		}
		shares[open[len(open)-1]] += rest
	}
	return shares
}
