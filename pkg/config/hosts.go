package config

import (
	"cmp"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/files/address"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// hostSection declares the keys for a host.
func hostSection() section[hostSpec] {
	return section[hostSpec]{
		Fields: []field[hostSpec]{
			key[hostSpec, string]{
				Row:  row{Name: "addr", Usually: "required", Meaning: "IP address or host name; `dns:NAME` is looked up when a run starts"},
				Kind: yamlfile.TextKind(), At: func(h *hostSpec) *string { return &h.Addr },
			}.Field(),
			key[hostSpec, int]{
				Row:  row{Name: "agent_port", Usually: "the file's `agent_port`", Meaning: "port that its agent listens on"},
				Kind: yamlfile.PortKind(), At: func(h *hostSpec) *int { return &h.AgentPort },
			}.Field(),
			key[hostSpec, []yamlfile.Given[int]]{
				Row:  row{Name: "ports", Usually: "the database's", Meaning: "database ports by role, such as `client` and `peer`"},
				Kind: portMap(), At: func(h *hostSpec) *[]yamlfile.Given[int] { return &h.ports }, Node: showPorts,
			}.Field(),
		},
		Check: func(r *yamlfile.Reader, w *written[hostSpec]) {
			if !w.Has("addr") {
				r.Errorf(w.Node, "host: addr is missing")
			}
		},
	}
}

// portMap maps roles to ports.
func portMap() kind[[]yamlfile.Given[int]] {
	return kind[[]yamlfile.Given[int]]{
		Unit: "mapping",
		Parse: func(r *yamlfile.Reader, key string, node *yamlfile.Node) ([]yamlfile.Given[int], bool) {
			var ports []yamlfile.Given[int]
			for _, p := range r.Pairs(key, node) {
				if n, ok := yamlfile.Port(r, p.Key.Value, p.Value); ok {
					ports = append(ports, yamlfile.Given[int]{Is: n, Key: p.Key.Value, At: p.Key})
				}
			}
			return ports, true
		},
		Schema: schema{"type": "object", "additionalProperties": yamlfile.PortKind().Schema},
	}
}

func showPorts(h *hostSpec) *yamlfile.Node {
	if len(h.Ports) == 0 {
		return nil
	}
	var m yamlfile.Mapping
	for _, role := range slices.Sorted(maps.Keys(h.Ports)) {
		m.Add(role, yamlfile.WholeNode(h.Ports[role]))
	}
	return m.Flow()
}

// hostList is a list of machines whose values have their places. Machines without a valid address
// are left out.
func hostList() kind[[]written[hostSpec]] {
	return kind[[]written[hostSpec]]{
		Unit: "list",
		Parse: func(r *yamlfile.Reader, key string, node *yamlfile.Node) ([]written[hostSpec], bool) {
			items, _ := r.Items(key, node)
			var list []written[hostSpec]
			for _, item := range items {
				if h, ok := readHost(r, key, item); ok {
					list = append(list, h)
				}
			}
			return list, true
		},
		Nested: func() schema {
			item := schema{"anyOf": []schema{{"type": "string"}, hostSection().Schema()}}
			return schema{"type": []string{"array", "null"}, "items": item}
		},
	}
}

// dnsPrefix begins a host name that control resolves.
const dnsPrefix = "dns:"

// named recognizes a DNS name by its prefix.
func (h *hostSpec) named() {
	if name, ok := strings.CutPrefix(h.Addr, dnsPrefix); ok {
		h.Addr, h.DNS = name, name
	}
}

// mentions repeats a single DNS name once per member, because it stands for all its addresses.
// Other hosts are returned unchanged.
func mentions(hosts []written[hostSpec], members int) []written[hostSpec] {
	if len(hosts) != 1 || hosts[0].Is.DNS == "" || members < 2 || members > maxMentions {
		return hosts
	}
	return slices.Repeat(hosts, members)
}

// maxMentions bounds the members that one DNS name stands for.
const maxMentions = 1000

// readHost reads an address, an address with its agent port, or a mapping.
func readHost(r *yamlfile.Reader, key string, node *yamlfile.Node) (written[hostSpec], bool) {
	if yamlfile.IsMapping(node) {
		h := hostSection().Read(r, "", "host", node)
		h.Is.named()
		return h, h.Has("addr") && yamlfile.CheckAddress(r, "addr", h.NodeOf("addr"), h.Is.Addr)
	}
	h := hostSection().None()
	h.Node = node
	s, ok := yamlfile.Text(r, key, node)
	if !ok {
		return h, false
	}
	name, named := strings.CutPrefix(s, dnsPrefix)
	h.Is.Addr = name
	if addr, port, err := net.SplitHostPort(name); err == nil {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			r.Errorf(node, "%s: port must be 1 to 65535, got %q", key, port)
			return h, false
		}
		h.Is.Addr, h.Is.AgentPort = addr, int(n)
		h.Give("agent_port", yamlfile.Place{Key: key, At: node})
	}
	if named {
		h.Is.DNS = h.Is.Addr
	}
	return h, yamlfile.CheckAddress(r, key, node, h.Is.Addr)
}

// showHost shows a machine on one line.
func showHost(h Host) *yamlfile.Node {
	if h.DNS != "" {
		h.Addr = dnsPrefix + h.DNS
	}
	return hostSection().Show(&hostSpec{Host: h}).Flow()
}

func showGenerators(f *fileSpec) *yamlfile.Node {
	if len(f.Generators) == 0 {
		return nil
	}
	return yamlfile.ListNode(f.Generators, false, showHost)
}

// generators resolves the machines that issue the load together, and reports loads that cannot be
// issued in parts. at is the key's value.
func (r *reader) generators(f *fileSpec, at *yamlfile.Node) []Host {
	var list []Host
	for _, h := range f.generators {
		g := Host{Addr: h.Is.Addr, DNS: h.Is.DNS, AgentPort: h.Is.AgentPort}
		if !h.Has("agent_port") {
			g.AgentPort = f.agentPort
		}
		for _, p := range h.Is.ports {
			r.Errorf(p.At, "ports: a generator has no member, so no port %q; it has an agent_port", p.Key)
		}
		if n := slices.IndexFunc(list, g.sameAgent); n >= 0 {
			r.Errorf(h.Node, "generators: the agent %s is listed twice (also as generator %d)", g.Agent(), n+1)
		}
		list = append(list, g)
	}
	for i := range f.Databases {
		if d := &f.Databases[i]; d.Steps.Load && len(list) > 0 {
			r.parts(f, f.databases[i], d, len(list), at)
			far := slices.IndexFunc(list, func(g Host) bool { return !loopback(g.Addr) })
			if near, ok := d.onLoopback(); ok && far >= 0 {
				r.Errorf(at, "generators: %s of %s is an address of loopback, and the generator %s would call its own machine", near, d.ID, list[far].Agent())
			}
		}
	}
	return list
}

// onLoopback returns a member address that no other machine can reach.
func (d *Database) onLoopback() (string, bool) {
	for _, h := range d.Hosts {
		if loopback(h.Addr) {
			return h.Addr, true
		}
	}
	for _, e := range d.Endpoints {
		if addr, _, err := net.SplitHostPort(e); err == nil && loopback(addr) {
			return e, true
		}
	}
	return "", false
}

// loopback reports whether an address refers to the machine that uses it.
func loopback(addr string) bool {
	ip, err := netip.ParseAddr(address.Canonical(addr))
	return err == nil && ip.IsLoopback()
}

// sameAgent reports whether two hosts have the same agent.
func (h Host) sameAgent(other Host) bool {
	named := h.DNS != "" && other.DNS != "" // hosts of the same name stand for different addresses
	return !named && address.Canonical(h.Addr) == address.Canonical(other.Addr) && h.AgentPort == other.AgentPort
}

// parts reports why generators cannot issue the load.
func (r *reader) parts(f *fileSpec, spec *written[databaseSpec], d *Database, generators int, at *yamlfile.Node) {
	for _, s := range d.Load.Stretches() {
		if s.Clients < generators || s.Connections < generators {
			key := "clients"
			if s.Clients >= generators {
				key = "connections"
			}
			r.Errorf(cmp.Or(spec.Is.load.NodeOf(key), f.load.NodeOf(key), at), "%s: each of %d generators (line %d) needs a client and a connection, and a step of %s has %d clients on %d connections",
				key, generators, at.Line, d.ID, s.Clients, s.Connections)
			break
		}
	}
	if err := d.Load.CheckParts(generators); err != nil {
		r.Errorf(at, "generators: the load of %s: %v", d.ID, err)
	}
}
