package config

import (
	"cmp"
	"net"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// resolve fills in the defaults and reports values that contradict the database or
// one another.
func (r *loadResolver) resolve(d Database) workload.Load {
	l := loadSection(r.catalog).Filled(r.spec).Load
	if !r.spec.Has("drain") {
		l.Drain = l.Timeout
	}
	if l.Timeout == 0 {
		r.Errorf(r.at("timeout"), "timeout must be positive, got 0s")
	}
	if s := r.file.Search(); s != nil {
		r.searched = true
		s.Load(r.Reader, r.file.Abilities, loadKeys{r}, &l)
	}
	r.meaning(&l)
	r.sizeLaw(&l)
	r.preload(&l)
	r.keys(&l)
	r.noHotset(&l)
	r.transactions(&l)
	if !r.spec.Has("requests") && r.spec.Has("duration") {
		l.Requests = 0
	}
	switch {
	case r.file.sweep.Is.key().Stepped():
		r.swept(&l)
	case r.spec.Has("steps") && !r.searched:
		r.stepped(&l)
	default:
		r.plain(&l)
	}
	r.pace(l)
	if l.Bind == workload.BindAny {
		l.Bind = "" // as in loads that are older than the key
	}
	r.waves(&l)
	r.sessions(&l)
	r.locks(&l)
	r.readMode(&l)
	r.target(l, d)
	if !r.spec.Has("failover") {
		l.Failover = r.db.entry.Info.Failover
	}
	r.sizes(&l)
	r.trims(l)
	l.Judge, l.Expect = r.judge(), r.spec.Is.expect.Is
	return l
}

// plain resolves a load without steps.
func (r *loadResolver) plain(l *workload.Load) {
	if l.Requests == 0 && l.Duration == 0 {
		r.Errorf(r.at("requests", "duration"), "%s: requests or duration must be positive, both are 0",
			cmp.Or(r.spec.Place("requests").Key, "duration"))
	}
	if !r.spec.Has("clients") && l.Requests > 0 {
		l.Clients = int(min(int64(l.Clients), l.Requests))
	}
	r.someClients(r.spec, l.Clients, l.Requests)
	l.Connections = r.connections(r.spec.Place("connections"), l.Connections, l.Clients)
	r.changes(l.Stretches()[0], r.spec.NodeOf("rate_end"), r.spec.NodeOf("ramp"))
}

// pace reports keys that matter only if requests have due times.
func (r *loadResolver) pace(l workload.Load) {
	if !l.Rated() {
		if l.Arrival != workload.ArrivalConstant {
			r.Errorf(r.spec.NodeOf("arrival"), "arrival: %s needs a rate; without a rate, a client sends when its last request has ended", l.Arrival)
		}
		for _, p := range yamlfile.PlacesInOrder(r.spec.Place("backlog"), r.spec.Place("bind"), r.spec.Place("drain")) {
			r.Errorf(p.At, "%s needs a rate: without one, no request waits for a client", p.Key)
		}
		return
	}
	for _, s := range l.Stretches() {
		if l.Arrival == workload.ArrivalPoisson && s.Rate > maxPoisson {
			r.Errorf(cmp.Or(r.spec.NodeOf("arrival"), r.db.id), "arrival: poisson draws every request, so the rate must be at most %d, got %.0f", maxPoisson, s.Rate)
		}
	}
	if l.Backlog == workload.BacklogShed && l.ReadsCreated() {
		r.Errorf(r.spec.NodeOf("backlog"), "backlog: shed would drop writes of the keys that key_law latest reads; keep them, or take another key_law")
	}
	if l.Bind == workload.BindClient && l.ReadsCreated() {
		r.Errorf(r.spec.NodeOf("bind"), "bind: client would leave writes of the keys that key_law latest reads waiting for their clients; leave it out, or take another key_law")
	}
}

// waves resolves a rate that changes in periods.
func (r *loadResolver) waves(l *workload.Load) {
	place := func(key string) *yamlfile.Node { return r.at(key, "arrival") }
	if !l.Arrival.Waves() {
		for _, key := range []string{"period", "peak", "burst"} {
			if p := r.spec.Place(key); p.Set() {
				r.idle(p, "the arrival of the load is neither sine nor bursts")
			}
		}
		l.Period, l.Peak, l.Burst = 0, 0, 0
		return
	}
	if l.Period <= 0 {
		r.Errorf(place("period"), "period must be positive, got %s", l.Period)
		return
	}
	if l.Arrival == workload.ArrivalSine {
		if p := r.spec.Place("burst"); p.Set() {
			r.idle(p, "a sine has no bursts")
		}
		l.Burst = 0
		if l.Peak < 1 || l.Peak > 2 {
			r.Errorf(place("peak"), "peak: a sine rises to between 1 and 2 times its mean, and falls as far below it, got %v", l.Peak)
		}
		return
	}
	switch most := l.Period.Seconds() / l.Burst.Seconds(); {
	case l.Burst <= 0 || l.Burst >= l.Period:
		r.Errorf(place("burst"), "burst must be more than 0s and less than the period (%s), got %s", l.Period, l.Burst)
	case l.Peak < 1 || l.Peak > most:
		r.Errorf(place("peak"), "peak: bursts of %s each %s can have from 1 to %.4g times the mean rate, got %v", l.Burst, l.Period, most, l.Peak)
	}
}

// maxPoisson bounds a rate, per second, whose arrivals are drawn one by one.
const maxPoisson = 10_000_000

// readMode resolves the read mode.
func (r *loadResolver) readMode(l *workload.Load) {
	modes := r.db.entry.Info.Reads
	switch {
	case !l.Any(workload.Op.Reads):
		if r.spec.Has("read") {
			r.idle(r.spec.Place("read"), "no operation of the load reads")
		}
		l.Read = ""
		return
	case len(modes) == 0:
		l.Read = ""
		return
	case !r.spec.Has("read"):
		l.Read = modes[0]
	}
	if !slices.Contains(modes, l.Read) {
		r.Errorf(r.at("read"), "%s: %s does not support the mode %q (it supports %s)", r.spec.Called("read"),
			r.db.entry.Name, l.Read, strings.Join(yamlfile.Words(modes), ", "))
	}
}

// target checks the members to which connections go.
func (r *loadResolver) target(l workload.Load, d Database) {
	known := []string{"all", "leader", "follower"}
	for _, h := range d.Hosts {
		known = append(known, h.Addr)
	}
	for _, endpoint := range d.Endpoints {
		host, _, _ := net.SplitHostPort(endpoint)
		known = append(known, host, endpoint)
	}
	switch at := r.at("target"); {
	case !slices.Contains(known, l.Target):
		r.Errorf(at, "target: unknown value %q%s", l.Target, yamlfile.Hint(l.Target, known))
	case (l.Target == "leader" || l.Target == "follower") && !can[database.Leader](r.db):
		r.Errorf(at, "target: %s: %s does not report its leader; give all or a host", l.Target, r.db.entry.Name)
	}
}

// trims checks the times at both ends of a step that the measurement excludes.
func (r *loadResolver) trims(l workload.Load) {
	shortest := l.Stretches()[0].Duration
	for _, s := range l.Stretches() {
		shortest = min(shortest, s.Duration)
	}
	switch {
	case l.CoolDown > 0 && shortest == 0:
		r.Errorf(r.spec.NodeOf("cool_down"), "cool_down needs a duration: without one, the end of the load is not known before")
	case shortest > 0 && l.WarmUp+l.CoolDown >= shortest:
		r.Errorf(r.at("warm_up", "cool_down"), "warm_up and cool_down leave nothing to measure of %s", shortest)
	}
}
