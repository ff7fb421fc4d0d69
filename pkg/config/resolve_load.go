package config

import (
	"cmp"
	"net"
	"slices"
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
	r.meaning(&l)
	r.keys(&l)
	if spec.steps.set() {
		r.stepped(&l)
	} else {
		r.plain(&l)
	}
	r.pace(l)
	r.readMode(&l)
	r.target(l, d)
	r.sizes(&l)
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
	l.RateEnd, l.Ramp = spec.rateEnd.is, spec.ramp.is
	r.changes(l.Stretches()[0], spec.rateEnd, spec.ramp)
}

// pace checks what is said of requests that are due at times of their own: only a
// rate has such.
func (r *loadResolver) pace(l Load) {
	spec := r.spec
	if !l.rated() {
		if spec.arrival.is == "poisson" {
			r.errorf(spec.arrival.at, "arrival: without a rate, a client sends when its last request ended; requests arrive by themselves only at a rate")
		}
		for _, p := range written(spec.backlog.place(), spec.drain.place()) {
			r.errorf(p.at, "%s: without a rate, no request waits for a client", p.key)
		}
		return
	}
	if l.Backlog == "shed" && l.KeyLaw == "latest" && slices.Contains(l.Operations(), "write") {
		r.errorf(spec.backlog.at, "backlog: shed would drop writes of the keys that key_law latest reads; keep them, or take another key_law")
	}
}

// changes checks what changes while a step runs: the rate, or the number of
// clients that have begun.
func (r *loadResolver) changes(s Step, rateEnd given[float64], ramp given[time.Duration]) {
	if s.RateEnd > 0 {
		switch {
		case s.Rate == 0:
			r.errorf(rateEnd.at, "rate_end: a rate that changes needs a rate to begin with")
		case s.Duration == 0:
			r.errorf(rateEnd.at, "rate_end: a rate that changes needs a duration to change over")
		case r.spec.arrival.is == "poisson":
			r.errorf(rateEnd.at, "rate_end: requests of a rate that changes are evenly spaced; arrival: poisson (line %d) is for one that stays",
				r.spec.arrival.at.Line)
		}
	}
	switch {
	case s.Ramp > 0 && s.Rate > 0:
		r.errorf(ramp.at, "ramp: with a rate, clients send when a request is due; give a rate_end to let the rate grow")
	case s.Duration > 0 && s.Ramp > s.Duration:
		r.errorf(ramp.at, "ramp: %s is longer than the %s in which clients send", s.Ramp, s.Duration)
	}
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

// readMode resolves what reads promise.
func (r *loadResolver) readMode(l *Load) {
	spec, entry := r.spec, r.db.entry
	switch {
	case !slices.ContainsFunc(l.Operations(), reads):
		if spec.read.set() {
			r.idle(spec.read.place(), "no operation of the load reads")
		}
		return
	case len(entry.Reads) == 0:
		return
	}
	l.Read = spec.read.or(entry.Reads[0])
	if !slices.Contains(entry.Reads, l.Read) {
		r.errorf(r.at(spec.read.at), "%s: %s has no reads that are %q (it has %s)", cmp.Or(spec.read.key, "read"),
			entry.Name, l.Read, strings.Join(entry.Reads, ", "))
	}
}

// reads reports whether an operation has a read mode. A swap reads what it then
// replaces.
func reads(operation string) bool {
	return slices.Contains([]string{"read", "read-oneshot", "range", "swap"}, operation)
}

// target checks which members connections go to.
func (r *loadResolver) target(l Load, d Database) {
	known := []string{"all", "leader", "follower"}
	for _, h := range d.Hosts {
		known = append(known, h.Addr)
	}
	for _, endpoint := range d.Endpoints {
		host, _, _ := net.SplitHostPort(endpoint)
		known = append(known, host, endpoint)
	}
	switch at := r.at(r.spec.target.at); {
	case !slices.Contains(known, l.Target):
		r.errorf(at, "target: unknown value %q%s", l.Target, hint(l.Target, known))
	case (l.Target == "leader" || l.Target == "follower") && !r.db.entry.Leader:
		r.errorf(at, "target: %s: the members of %s do not tell which of them leads; give all or a host", l.Target, r.db.entry.Name)
	}
}

// sizes resolves and checks keys and values against the database and the number
// of keys.
func (r *loadResolver) sizes(l *Load) {
	spec := r.spec
	keySize, numbers := cmp.Or(spec.keySize.key, "key_size"), l.keyNumbers(l.Requests)
	switch {
	case l.KeySize < 1:
		r.errorf(r.at(spec.keySize.at), "%s: a key has at least one byte", keySize)
	case l.KeySize < digits(numbers):
		r.errorf(r.at(spec.keySize.at), "%s: %d bytes cannot hold %d different keys (at least %d)",
			keySize, l.KeySize, numbers, digits(numbers))
	}
	most, limited := r.maxValue(l.KeySize)
	over := func(g given[int], key string, size int) {
		if limited && size > most {
			r.errorf(r.at(g.at), "%s: %d is more than %s takes (%d)", cmp.Or(g.key, key), size, r.db.entry.Name, most)
		}
	}
	if high := spec.valueSizeMax; high.is > 0 && high.is != l.ValueSize {
		l.ValueSizeMax = high.is
		r.valueRange(*l)
		over(high, "value_size_max", l.ValueSizeMax)
		return
	}
	over(spec.valueSize, "value_size", l.ValueSize)
}

// maxValue is the largest value that the database takes under a key of that many
// bytes, if there is a limit: options that change it say so.
func (r *loadResolver) maxValue(keySize int) (most int, limited bool) {
	if options, ok := r.db.options.(interface{ MaxValue(keySize int) int }); ok {
		return options.MaxValue(keySize), true
	}
	return r.db.entry.MaxValue, r.db.entry.MaxValue > 0
}

// minRange is the smallest value of a range of sizes: only values from here on
// carry the number that tells a reader how long they should be.
const minRange = 16

// valueRange checks that sizes of values go from one to a larger one.
func (r *loadResolver) valueRange(l Load) {
	low, high := r.spec.valueSize, r.spec.valueSizeMax
	switch {
	case l.ValueSizeMax < l.ValueSize:
		r.errorf(high.at, "%s: %d is less than value_size (%d)", high.key, l.ValueSizeMax, l.ValueSize)
	case l.ValueSize < minRange:
		r.errorf(r.at(low.at, high.at), "value_size: sizes that differ begin at %d bytes: shorter values cannot say how long they should be", minRange)
	}
}

// trims checks what is cut from the measured population at both ends of a step.
func (r *loadResolver) trims(l Load) {
	shortest := l.Stretches()[0].Duration
	for _, s := range l.Stretches() {
		shortest = min(shortest, s.Duration)
	}
	switch {
	case l.CoolDown > 0 && shortest == 0:
		r.errorf(r.spec.coolDown.at, "cool_down: only a load with a duration has an end that is known before")
	case shortest > 0 && l.WarmUp+l.CoolDown >= shortest:
		r.errorf(r.at(r.spec.warmUp.at, r.spec.coolDown.at), "warm_up and cool_down leave nothing to measure of %s", shortest)
	}
}

// idle warns of what has no effect, unless something else is wrong: that may be
// why.
func (r *loadResolver) idle(p place, why string) {
	if len(r.problems) == 0 {
		r.warnf(p.at, "%s: %s", p.key, why)
	}
}

// at is the first place that is one, else the database's id.
func (r *loadResolver) at(places ...*yaml.Node) *yaml.Node {
	return cmp.Or(cmp.Or(places...), r.db.at)
}
