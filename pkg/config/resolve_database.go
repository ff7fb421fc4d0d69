package config

import (
	"cmp"
	"maps"
	"slices"

	"github.com/coreos/dbtester/pkg/files/address"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

func (r *databaseResolver) resolve(steps Steps) Database {
	r.vary()
	r.defaults()
	spec, d := r.spec, r.spec.Database
	if !r.db.Has("tag") {
		d.Tag = makeTag(d.Name, d.Label, d.Version)
	}
	if why := validTag(d.Tag); why != "" {
		r.Errorf(cmp.Or(r.db.NodeOf("tag"), r.db.NodeOf("version"), spec.id), "tag %q: %s", d.Tag, why)
	}
	if d.Install && d.Binary != "" {
		r.Errorf(r.db.NodeOf("binary"), "binary: install (line %d) fetches the release; give one of the two", r.db.NodeOf("install").Line)
	}
	d.Hosts = r.members()
	d.TLS, d.Auth = r.tls(), r.auth()
	r.shared(&d)
	d.Steps = r.steps(steps)
	l := loadResolver{reader: r.reader, file: r.file, db: spec, prefix: d.PrefixSize(), spec: loadSection(r.catalog).Over(spec.load, r.file.load)}
	d.Load = l.resolve(d)
	if spec.swept.Given() {
		d.Swept = &spec.swept.Is
	}
	r.abilities(&d)
	r.options()
	var err error
	if d.OptionsYAML, err = yamlfile.EncodeOptions(d.Options); err != nil {
		r.Errorf(spec.id, "%v", err)
	}
	return d
}

// steps resolves the steps of the database. A cluster that already runs is neither started nor
// stopped.
func (r *databaseResolver) steps(steps Steps) Steps {
	runs := len(r.spec.Endpoints) > 0
	if runs {
		steps.Start, steps.Stop = false, false
	}
	stepsSection().Apply(r.spec.steps, &steps)
	if runs && (steps.Start || steps.Stop) {
		wrong := "stop"
		if steps.Start {
			wrong = "start"
		}
		r.Errorf(r.spec.steps.NodeOf(wrong), "%s: endpoints (line %d) are of a cluster that is already running; it is not started or stopped",
			r.spec.ID, r.db.NodeOf("endpoints").Line)
	}
	return steps
}

// members resolves the machines for the database: its own hosts, else those at the top of the file.
// A database that gives endpoints has only its own hosts.
func (r *databaseResolver) members() []Host {
	specs, at := r.spec.hosts, r.db.NodeOf("hosts")
	own := at != nil
	if !own && !r.db.Has("endpoints") {
		specs, at = r.file.hosts, r.file.hostsAt
	}
	members := r.file.members
	if r.db.Has("members") {
		members = r.spec.members
	}
	specs = mentions(specs, members)
	specs = specs[:r.size(len(specs))]
	var hosts []Host
	for _, h := range specs {
		hosts = append(hosts, r.member(h, own))
	}
	if len(hosts) == 0 && len(r.spec.Endpoints) == 0 && (at == nil || isEmpty(at)) {
		r.Errorf(cmp.Or(at, r.spec.id), "no hosts: list them under hosts, or give the endpoints of a cluster that runs")
	}
	for i, h := range hosts {
		r.samePorts(specs[i], h)
		for j, other := range hosts[:i] {
			if mentioned := h.DNS != "" && other.DNS != ""; !mentioned && address.Canonical(h.Addr) == address.Canonical(other.Addr) {
				r.clash(specs[i].Node, h, other, j)
			}
		}
	}
	return hosts
}

// size returns the number of hosts that are members.
func (r *databaseResolver) size(hosts int) int {
	n, at, given := r.file.members, r.file.membersAt, r.file.membersAt != nil
	if r.db.Has("members") {
		n, at, given = r.spec.members, r.db.NodeOf("members"), true
	}
	switch {
	case !given || len(r.spec.Endpoints) > 0 && !r.db.Has("members"):
		return hosts
	case len(r.spec.Endpoints) > 0:
		r.Errorf(at, "members: endpoints (line %d) are of a cluster that is already running; give one of the two", r.db.NodeOf("endpoints").Line)
	case n < 1:
		r.Errorf(at, "members must be positive, got %d", n)
	case n > hosts && hosts > 0:
		r.Errorf(at, "members: %d members of %s need as many hosts, got %d", n, r.spec.ID, hosts)
	case n <= hosts:
		return n
	}
	return hosts
}

// isEmpty reports whether a node is an empty list. Problems with other nodes were already reported.
func isEmpty(node *yamlfile.Node) bool {
	return yamlfile.IsNull(node) || yamlfile.IsList(node) && len(node.Content) == 0
}

// member resolves one machine: its agent port and the database ports.
func (r *databaseResolver) member(h written[hostSpec], own bool) Host {
	host := Host{Addr: h.Is.Addr, DNS: h.Is.DNS, AgentPort: h.Is.AgentPort, Ports: maps.Clone(r.spec.entry.Info.Ports)}
	if !h.Has("agent_port") {
		host.AgentPort = r.file.agentPort
	}
	for _, p := range h.Is.ports {
		if _, ok := r.spec.entry.Info.Ports[p.Key]; ok {
			host.Ports[p.Key] = p.Is
			continue
		}
		if own || !r.roleOfAny(p.Key) {
			r.Errorf(p.At, "ports: %s has no port %q%s", r.spec.entry.Name, p.Key,
				yamlfile.Hint(p.Key, slices.Sorted(maps.Keys(r.spec.entry.Info.Ports))))
		}
	}
	return host
}

// roleOfAny reports whether any database on the hosts at the top of the file has a port in that
// role.
func (r *databaseResolver) roleOfAny(role string) bool {
	return slices.ContainsFunc(r.file.databases, func(d *written[databaseSpec]) bool {
		_, ok := d.Is.entry.Info.Ports[role]
		return ok && !d.Has("hosts")
	})
}

// samePorts reports roles that share a port on one member.
func (r *databaseResolver) samePorts(spec written[hostSpec], h Host) {
	roles := slices.Sorted(maps.Keys(h.Ports))
	for i, role := range roles {
		for _, other := range roles[:i] {
			if h.Ports[role] != h.Ports[other] {
				continue
			}
			at := spec.Node
			for _, p := range spec.Is.ports { // at least one of the two is not a default
				if p.Key == role || p.Key == other {
					at = p.At
				}
			}
			r.Errorf(at, "%s: port %d is both %s and %s; each role needs a port of its own", h.Addr, h.Ports[role], other, role)
		}
	}
}

// clash reports two members that would listen on the same address. The other is host
// n, from 0.
func (r *databaseResolver) clash(at *yamlfile.Node, h, other Host, n int) {
	if h.AgentPort == other.AgentPort {
		r.Errorf(at, "%s is listed twice (also as host %d); members on one machine need different agent_port and ports", h.Addr, n+1)
		return
	}
	for _, role := range slices.Sorted(maps.Keys(h.Ports)) {
		for _, otherRole := range slices.Sorted(maps.Keys(other.Ports)) {
			if h.Ports[role] == other.Ports[otherRole] {
				r.Errorf(at, "%s: port %d (%s) is also used by host %d (%s)", h.Addr, h.Ports[role], role, n+1, otherRole)
			}
		}
	}
}
