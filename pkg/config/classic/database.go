package classic

import (
	"strings"

	"github.com/coreos/dbtester/pkg/yamlfile"
)

func (r *reader) databases(key string, node *yamlfile.Node) []*Database {
	var list []*Database
	for _, p := range r.Pairs(key, node) {
		if known, ok := r.lookup(r.Reader, p.Key); ok {
			list = append(list, r.database(p, known))
		}
	}
	return list
}

// database reads one database's entry for control.
func (r *reader) database(p yamlfile.Pair, about Known) *Database {
	d := &Database{ID: p.Key.Value, At: p.Key, Options: about.Options}
	var peers yamlfile.Given[[]*yamlfile.Node]
	var agentPort, databasePort yamlfile.Given[int]
	var options, steps *yamlfile.Node
	known := yamlfile.Keys{
		"database_description":     yamlfile.Into(r.Reader, &d.Description, yamlfile.Prose),
		"peer_ips":                 yamlfile.Into(r.Reader, &peers, (*yamlfile.Reader).Items),
		"agent_port_to_connect":    yamlfile.Into(r.Reader, &agentPort, port),
		"database_port_to_connect": yamlfile.Into(r.Reader, &databasePort, port),
		"benchmark_options":        func(_ string, n *yamlfile.Node) { options = n },
		"benchmark_steps":          func(_ string, n *yamlfile.Node) { steps = n },
		d.ID:                       func(k string, n *yamlfile.Node) { flags(r.Reader, k, n, d.Options) },
	}
	for _, ignored := range []string{"database_id", "database_tag", "peer_ips_string", "agent_endpoints", "database_endpoints"} {
		known[ignored] = r.overwritten(p.Key)
	}
	r.Fields(d.ID, p.Value, known)
	d.Hosts = yamlfile.Given[[]Host]{Key: peers.Key, At: peers.At}
	for _, item := range peers.Is {
		if addr, ok := yamlfile.Address(r.Reader, peers.Key, item); ok {
			d.Hosts.Is = append(d.Hosts.Is, Host{addr, item, agentPort, databasePort})
		}
	}
	r.name(d)
	r.load(d, about.Reads, options, steps)
	return d
}

// port reads a port. 0 means the default and counts as not given.
func port(r *yamlfile.Reader, key string, node *yamlfile.Node) (int, bool) {
	if node.Value == "0" {
		return 0, false
	}
	return yamlfile.Port(r, key, node)
}

// name makes the tag and version from a description.
func (r *reader) name(d *Database) {
	if strings.TrimSpace(d.Description.Is) == "" {
		r.Errorf(d.At, "%s: database_description is missing; the tag is made of it", d.ID)
		// The id replaces it, so that nothing else is reported because of it.
		d.Tag = yamlfile.Given[string]{Is: d.ID, At: d.At}
		return
	}
	d.Tag = d.Description
	d.Tag.Is = Tag(d.Description.Is)
	_, label, _ := strings.Cut(d.ID, "__")
	if v := version(d.Description.Is, label); v != "" {
		d.Version = d.Description
		d.Version.Is = v
	}
}
