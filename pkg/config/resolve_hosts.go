package config

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"

	"go.yaml.in/yaml/v4"
)

// members resolves the machines of one database: its own hosts, else the file's.
// A database with endpoints has only hosts of its own.
func (r *reader) members(f *fileSpec, spec *databaseSpec) []Host {
	given := spec.hosts
	if !given.set() && !spec.endpoints.set() {
		given = f.hosts
	}
	var hosts []Host
	for _, h := range given.is {
		hosts = append(hosts, r.member(f, spec, h))
	}
	if len(hosts) == 0 && len(spec.endpoints.is) == 0 && (!given.set() || isEmpty(given.at)) {
		r.errorf(cmp.Or(given.at, spec.at), "no hosts: list them under hosts, or give the endpoints of a cluster that runs")
	}
	for i, h := range hosts {
		r.twins(given.is[i], h)
		for j, other := range hosts[:i] {
			if h.Addr == other.Addr {
				r.clash(given.is[i], h, other, j)
			}
		}
	}
	return hosts
}

// isEmpty reports whether a node that should be a list is an empty one; if it is
// something else, that was reported.
func isEmpty(node *yaml.Node) bool {
	return isNull(node) || node.Kind == yaml.SequenceNode && len(node.Content) == 0
}

// member resolves one machine: its agent's port and every port of the database.
func (r *reader) member(f *fileSpec, spec *databaseSpec, h hostSpec) Host {
	host := Host{
		Addr:      h.addr,
		AgentPort: h.agentPort.or(f.agentPort.or(DefaultAgentPort)),
		Ports:     maps.Clone(spec.entry.Ports),
	}
	for _, p := range h.ports {
		if _, ok := spec.entry.Ports[p.key]; ok {
			host.Ports[p.key] = p.is
			continue
		}
		if spec.hosts.set() || !r.roleOfAny(f, p.key) {
			r.errorf(p.at, "ports: %s has no port %q%s", spec.entry.Name, p.key,
				hint(p.key, slices.Sorted(maps.Keys(spec.entry.Ports))))
		}
	}
	return host
}

// roleOfAny reports whether any database that uses the file's hosts has a port
// of that role.
func (r *reader) roleOfAny(f *fileSpec, role string) bool {
	return slices.ContainsFunc(f.databases.is, func(d *databaseSpec) bool {
		_, ok := d.entry.Ports[role]
		return ok && !d.hosts.set()
	})
}

// twins reports two ports of one member that are the same.
func (r *reader) twins(spec hostSpec, h Host) {
	roles := slices.Sorted(maps.Keys(h.Ports))
	for i, role := range roles {
		for _, other := range roles[:i] {
			if h.Ports[role] != h.Ports[other] {
				continue
			}
			at := spec.at
			for _, p := range spec.ports { // at least one of the two is not a default
				if p.key == role || p.key == other {
					at = p.at
				}
			}
			r.errorf(at, "%s: port %d is both %s and %s; each role needs one of its own", h.Addr, h.Ports[role], other, role)
		}
	}
}

// clash reports two members that would listen on one address.
func (r *reader) clash(spec hostSpec, h, other Host, n int) {
	if h.AgentPort == other.AgentPort {
		r.errorf(spec.at, "%s is listed twice (also as host %d); members on one machine need different agent_port and ports", h.Addr, n+1)
		return
	}
	for _, role := range slices.Sorted(maps.Keys(h.Ports)) {
		for _, otherRole := range slices.Sorted(maps.Keys(other.Ports)) {
			if h.Ports[role] == other.Ports[otherRole] {
				r.errorf(spec.at, "%s: port %d (%s) is that of host %d (%s) too", h.Addr, h.Ports[role], role, n+1, otherRole)
			}
		}
	}
}

// keyFile warns of credentials that an upload will miss.
func (r *reader) keyFile(u uploadSpec) {
	if !u.keyFile.set() {
		return
	}
	if _, err := os.Stat(u.keyFile.is); errors.Is(err, fs.ErrNotExist) {
		r.warnf(u.keyFile.at, "%s: %q does not exist here; the upload will need it", u.keyFile.key, u.keyFile.is)
	}
}
