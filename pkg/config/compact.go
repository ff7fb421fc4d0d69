package config

import (
	"net"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// compactKeys are the top keys of a compact file and what they fill.
func (r *reader) compactKeys(f *fileSpec) keys {
	return keys{
		"title":       into(&f.title, r.text),
		"description": into(&f.description, r.text),
		"seed":        into(&f.seed, r.seed),
		"trials":      into(&f.trials, r.small),
		"settle":      into(&f.settle, r.duration),
		"results":     into(&f.results, r.text),
		"hosts":       into(&f.hosts, r.hosts),
		"agent_port":  into(&f.agentPort, r.port),
		"tls":         into(&f.tls, r.tls),
		"auth":        into(&f.auth, r.auth),
		"load":        func(_ string, n *yaml.Node) { r.load(n, &f.load) },
		"databases":   into(&f.databases, r.databases),
		"steps":       func(_ string, n *yaml.Node) { r.steps(n, &f.steps) },
		"plots":       into(&f.plots, r.plots),
		"profile":     into(&f.profile, r.profile),
		"upload":      func(_ string, n *yaml.Node) { r.upload(n, &f.upload) },
		"export":      into(&f.export, r.paths),
		"inputs":      into(&f.inputs, r.inputs),
		"report":      into(&f.report, r.report),
	}
}

// compactSpec reads a file of the compact schema.
func (r *reader) compactSpec(root *yaml.Node) *fileSpec {
	f := &fileSpec{root: root, uploadKey: "upload.url"}
	r.fields("the file", root, r.compactKeys(f))
	return f
}

func (r *reader) databases(key string, node *yaml.Node) ([]*databaseSpec, bool) {
	var list []*databaseSpec
	for _, p := range r.pairs(key, node) {
		entry, ok := r.entry(p.key)
		if !ok {
			continue
		}
		d := &databaseSpec{id: p.key.Value, at: p.key, entry: entry}
		if entry.Options != nil {
			d.options = entry.Options()
		}
		list = append(list, d)
		r.fields(d.id, p.value, keys{
			"version":     into(&d.version, r.text),
			"tag":         into(&d.tag, r.text),
			"description": into(&d.description, r.text),
			"install":     into(&d.install, r.truth),
			"binary":      into(&d.binary, r.text),
			"hosts":       into(&d.hosts, r.hosts),
			"endpoints":   into(&d.endpoints, r.endpoints),
			"tls":         into(&d.tls, r.tls),
			"auth":        into(&d.auth, r.auth),
			"load":        func(_ string, n *yaml.Node) { r.load(n, &d.load) },
			"options":     func(k string, n *yaml.Node) { r.options(k, n, reflect.ValueOf(d.options)) },
			"steps":       func(_ string, n *yaml.Node) { r.steps(n, &d.steps) },
		})
	}
	return list, true
}

// entry finds the database that an id names: NAME or NAME__LABEL.
func (r *reader) entry(id *yaml.Node) (Entry, bool) {
	name, label, labelled := strings.Cut(id.Value, "__")
	if labelled && (label == "" || strings.Trim(label, labelChars) != "") {
		r.errorf(id, "%q: the label after __ is one or more of a-z A-Z 0-9 _ . + -", id.Value)
		return Entry{}, false
	}
	var names []string
	for _, e := range r.catalog {
		if e.Name == name {
			return e, true
		}
		names = append(names, e.Name)
	}
	r.errorf(id, "unknown database %q%s", name, hint(name, names))
	return Entry{}, false
}

const labelChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-"

func (r *reader) steps(node *yaml.Node, s *stepsSpec) {
	r.fields("steps", node, keys{
		"start":  into(&s.start, r.truth),
		"load":   into(&s.load, r.truth),
		"stop":   into(&s.stop, r.truth),
		"upload": into(&s.upload, r.truth),
	})
}

func (r *reader) upload(node *yaml.Node, u *uploadSpec) {
	u.at = node
	r.fields("upload", node, keys{
		"url":      into(&u.url, r.text),
		"key_file": into(&u.keyFile, r.text),
		"project":  into(&u.project, r.text),
	})
}

func (r *reader) hosts(key string, node *yaml.Node) ([]hostSpec, bool) {
	items, _ := r.items(key, node)
	var list []hostSpec
	for _, item := range items {
		if h, ok := r.host(key, item); ok {
			list = append(list, h)
		}
	}
	return list, true
}

// host is an address, an address with its agent's port, or a mapping of both and
// the database's ports.
func (r *reader) host(key string, node *yaml.Node) (hostSpec, bool) {
	h := hostSpec{at: node}
	if node.Kind != yaml.MappingNode {
		s, ok := r.text(key, node)
		if !ok {
			return h, false
		}
		h.addr = s
		if addr, port, err := net.SplitHostPort(s); err == nil {
			n, err := strconv.ParseUint(port, 10, 16)
			if err != nil || n == 0 {
				r.errorf(node, "%s: %q is no port (1 to 65535)", key, port)
				return h, false
			}
			h.addr, h.agentPort = addr, given[int]{int(n), key, node}
		}
		return h, r.address(key, node, h.addr)
	}
	var addr given[string]
	r.fields("host", node, keys{
		"addr":       into(&addr, r.text),
		"agent_port": into(&h.agentPort, r.port),
		"ports": func(k string, n *yaml.Node) {
			for _, p := range r.pairs(k, n) {
				if port, ok := r.port(p.key.Value, p.value); ok {
					h.ports = append(h.ports, given[int]{port, p.key.Value, p.key})
				}
			}
		},
	})
	if !addr.set() {
		r.errorf(node, "host: addr is missing")
		return h, false
	}
	h.addr = addr.is
	return h, r.address("addr", addr.at, h.addr)
}

// address checks an IP address or host name.
func (r *reader) address(key string, node *yaml.Node, s string) bool {
	if !isAddress(s) {
		r.errorf(node, "%s: %q is no IP address or host name", key, s)
		return false
	}
	return true
}

func (r *reader) endpoints(key string, node *yaml.Node) ([]string, bool) {
	items, ok := r.items(key, node)
	if !ok {
		return nil, false
	}
	var list []string
	for _, item := range items {
		s, ok := r.text(key, item)
		if !ok {
			continue
		}
		host, port, err := net.SplitHostPort(s)
		if n, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || n == 0 || !isAddress(host) {
			r.errorf(item, "%s: want host:port, got %s", key, describe(item))
			continue
		}
		list = append(list, s)
	}
	return list, true
}

// plots is a list of columns, each alone or with the titles of its axes.
func (r *reader) plots(key string, node *yaml.Node) ([]Plot, bool) {
	items, ok := r.items(key, node)
	if !ok {
		return nil, false
	}
	list := []Plot{}
	for _, item := range items {
		var column, x, y given[string]
		if item.Kind == yaml.MappingNode {
			r.fields("plot", item, keys{
				"column": into(&column, r.text),
				"x_axis": into(&x, r.text),
				"y_axis": into(&y, r.text),
			})
		} else {
			into(&column, r.text)(key, item)
		}
		if !column.set() {
			if item.Kind == yaml.MappingNode {
				r.errorf(item, "plot: column is missing")
			}
			continue
		}
		list = append(list, r.plot(column, x, y))
	}
	return list, true
}
