package config

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// loadResolver resolves the load of one database.
type loadResolver struct {
	*reader
	db   *databaseSpec
	spec loadSpec
}

// resolve fills in the defaults and checks the load against the database and
// against itself.
func (r *loadResolver) resolve(d Database) Load {
	def, spec := Defaults(), r.spec
	l := Load{
		Operation: spec.operation.or(def.Operation),
		Rate:      spec.rate.or(def.Rate),
		Arrival:   spec.arrival.or(def.Arrival),
		Backlog:   spec.backlog.or(def.Backlog),
		KeySize:   spec.keySize.or(def.KeySize),
		ValueSize: spec.valueSize.or(def.ValueSize),
		SameKey:   spec.sameKey.or(def.SameKey),
		Timeout:   spec.timeout.or(def.Timeout),
		WarmUp:    spec.warmUp.or(def.WarmUp),
		CoolDown:  spec.coolDown.or(def.CoolDown),
		Target:    spec.target.or(def.Target),
	}
	l.Drain = spec.drain.or(l.Timeout)
	if l.Timeout == 0 {
		r.errorf(spec.timeout.at, "timeout: a request needs some time")
	}
	if spec.steps.set() {
		r.stepped(&l)
	} else {
		r.plain(&l)
	}
	r.words(&l, d)
	r.sizes(l)
	r.trims(l)
	return l
}

// plain resolves a load of one stretch.
func (r *loadResolver) plain(l *Load) {
	spec := r.spec
	l.Duration = spec.duration.is
	l.Requests = spec.requests.is
	if !spec.requests.set() && !spec.duration.set() {
		l.Requests = DefaultRequests
	}
	if l.Requests == 0 && l.Duration == 0 {
		r.errorf(r.at(spec.requests.at, spec.duration.at), "%s: a load ends after some requests or some duration; both are 0",
			cmp.Or(spec.requests.key, "duration"))
	}
	l.Clients = spec.clients.or(int(clamp(int64(Defaults().Clients), l.Requests)))
	r.someClients(spec.clients, l.Clients, l.Requests)
	l.Connections = r.connections(spec.connections, spec.clients, l.Clients)
}

// clamp is n, but no more than most unless most is 0.
func clamp(n, most int64) int64 {
	if most > 0 {
		return min(n, most)
	}
	return n
}

// someClients checks a number of clients against the requests they share.
func (r *loadResolver) someClients(g given[int], clients int, requests int64) {
	key := cmp.Or(g.key, "clients")
	switch {
	case clients < 1:
		r.errorf(r.at(g.at), "%s: a load needs at least one client", key)
	case requests > 0 && int64(clients) > requests:
		r.errorf(r.at(g.at), "%s: %d are more than the %d requests they share", key, clients, requests)
	}
}

// connections resolves how many connections clients share.
func (r *loadResolver) connections(g, from given[int], clients int) int {
	shared := r.db.entry.SharedConn
	key := cmp.Or(g.key, "connections")
	switch {
	case !g.set() && shared:
		return min(clients, DefaultConnections)
	case !g.set():
		return clients
	case g.is < 1:
		r.errorf(g.at, "%s: a load needs at least one connection", key)
	case !shared && g.is != clients:
		r.errorf(g.at, "%s: %d for %d clients, but clients of %s cannot share one: leave it out, or give as many",
			key, g.is, clients, r.db.entry.Name)
	case g.is > clients:
		r.errorf(g.at, "%s: %d are more than the %d clients", key, g.is, clients)
	}
	return g.is
}

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

// words checks the operation, the read mode and the target.
func (r *loadResolver) words(l *Load, d Database) {
	spec, entry := r.spec, r.db.entry
	if !slices.Contains(entry.Operations, l.Operation) {
		r.errorf(r.at(spec.operation.at), "%s: %s does not do %q (it does %s)", cmp.Or(spec.operation.key, "operation"),
			entry.Name, l.Operation, strings.Join(entry.Operations, ", "))
	}
	if reads(l.Operation) && len(entry.Reads) > 0 {
		l.Read = spec.read.or(entry.Reads[0])
		if !slices.Contains(entry.Reads, l.Read) {
			r.errorf(r.at(spec.read.at), "%s: %s has no reads that are %q (it has %s)", cmp.Or(spec.read.key, "read"),
				entry.Name, l.Read, strings.Join(entry.Reads, ", "))
		}
	}
	known := []string{"all", "leader", "follower"}
	for _, h := range d.Hosts {
		known = append(known, h.Addr)
	}
	for _, endpoint := range d.Endpoints {
		host, _, _ := net.SplitHostPort(endpoint)
		known = append(known, host)
	}
	if !slices.Contains(known, l.Target) {
		r.errorf(r.at(spec.target.at), "target: unknown value %q%s", l.Target, hint(l.Target, known))
	}
}

// reads reports whether an operation has a read mode.
func reads(operation string) bool {
	return operation == "read" || operation == "read-oneshot" || operation == "range"
}

// sizes checks keys and values against the database and the number of keys.
func (r *loadResolver) sizes(l Load) {
	spec, entry := r.spec, r.db.entry
	keySize, valueSize := cmp.Or(spec.keySize.key, "key_size"), cmp.Or(spec.valueSize.key, "value_size")
	digits := len(strconv.FormatInt(max(l.Requests-1, 0), 10))
	switch {
	case l.KeySize < 1:
		r.errorf(r.at(spec.keySize.at), "%s: a key has at least one byte", keySize)
	case !l.SameKey && l.KeySize < digits:
		r.errorf(r.at(spec.keySize.at), "%s: %d bytes cannot hold %d different keys (at least %d)", keySize, l.KeySize, l.Requests, digits)
	}
	if entry.MaxValue > 0 && l.ValueSize > entry.MaxValue {
		r.errorf(r.at(spec.valueSize.at), "%s: %d is more than %s takes (%d)", valueSize, l.ValueSize, entry.Name, entry.MaxValue)
	}
}

// trims checks what is cut from the measured population at both ends of a step.
func (r *loadResolver) trims(l Load) {
	durations := []time.Duration{l.Duration}
	if len(l.Steps) > 0 {
		durations = nil
		for _, s := range l.Steps {
			durations = append(durations, s.Duration)
		}
	}
	shortest := slices.Min(durations)
	switch {
	case l.CoolDown > 0 && shortest == 0:
		r.errorf(r.spec.coolDown.at, "cool_down: only a load with a duration has an end that is known before")
	case shortest > 0 && l.WarmUp+l.CoolDown >= shortest:
		r.errorf(r.at(r.spec.warmUp.at, r.spec.coolDown.at), "warm_up and cool_down leave nothing to measure of %s", shortest)
	}
}

// at is the first place that is one, else the database's id.
func (r *loadResolver) at(places ...*yaml.Node) *yaml.Node {
	return cmp.Or(cmp.Or(places...), r.db.at)
}
