package kube

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/coreos/dbtester/pkg/config"
)

// File returns the experiment file as control has it in its pod: each host is the name of an
// agent's pod in the namespace, with the agents' usual port. A host that several databases have is
// one pod. text is the file that e was read from; its comments stay. A classic file becomes a
// compact one, without its output paths.
//
// The result must be read again: a load that targets a host by its address does not find it any
// more.
func File(e *config.Experiment, text []byte, namespace string) ([]byte, error) {
	if !nameLabel().MatchString(namespace) {
		return nil, fmt.Errorf("namespace must be a label of DNS, got %q", namespace)
	}
	p := newPods(nameAgent, namespace)
	if e.Classic {
		return p.classic(e)
	}
	var document yaml.Node
	if err := yaml.Load(text, &document); err != nil {
		return nil, fmt.Errorf("read the experiment: %w", err)
	}
	root := &document
	if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		root = root.Content[0]
	}
	if root.Kind != yaml.MappingNode {
		return nil, errors.New("read the experiment: it is no mapping")
	}
	p.compact(e, root)
	nulls(root, false)
	data, err := yaml.Dump(&document, yaml.WithLineWidth(-1))
	if err != nil {
		return nil, fmt.Errorf("write the experiment: %w", err)
	}
	return data, nil
}

// pods numbers the hosts in a file that become the pods in one set, from 0, by how they are
// written.
type pods struct {
	set, namespace string
	known          map[string]int
}

func newPods(set, namespace string) pods {
	return pods{set: set, namespace: namespace, known: map[string]int{}}
}

// of returns the pod name for host.
func (p pods) of(host string) string {
	n, ok := p.known[host]
	if !ok {
		n = len(p.known)
		p.known[host] = n
	}
	return podName(p.set, n, p.namespace)
}

// classic shows the experiment in a classic file with its pods.
func (p pods) classic(e *config.Experiment) ([]byte, error) {
	other := *e
	other.Inputs, other.Report, other.Export, other.AgentCerts = nil, config.Report{}, nil, ""
	other.Databases = slices.Clone(e.Databases)
	for i := range other.Databases {
		db := &other.Databases[i]
		db.Hosts = slices.Clone(db.Hosts)
		for j := range db.Hosts {
			h := &db.Hosts[j]
			h.DNS = p.of(h.Agent())
			h.Addr, h.AgentPort = h.DNS, agentPort
		}
	}
	return config.Show(&other)
}

// compact puts pods in place of the hosts in a compact file.
func (p pods) compact(e *config.Experiment, root *yaml.Node) {
	if value(root, "title") == nil { // the file had the title
		var key, title yaml.Node
		key.SetString("title")
		title.SetString(e.Title)
		root.Content = append(root.Content, &key, &title)
	}
	remove(root, "agent_port")
	remove(root, "agent_certs")
	p.hosts(e, value(root, "hosts"))
	newPods(nameGenerator, p.namespace).hosts(e, value(root, "generators"))
	databases := value(root, "databases")
	if databases == nil || databases.Kind != yaml.MappingNode {
		return
	}
	for i := 1; i < len(databases.Content); i += 2 {
		p.hosts(e, value(databases.Content[i], "hosts"))
	}
}

// hosts puts pods in place of the hosts in a list. One DNS name stands for as many as a database
// has members with that name.
func (p pods) hosts(e *config.Experiment, list *yaml.Node) {
	if list == nil || list.Kind != yaml.SequenceNode {
		return
	}
	if len(list.Content) == 1 {
		for i := 1; i < p.mentions(e, list.Content[0]); i++ {
			more := clone(list.Content[0])
			address(more).Value += "#" + strconv.Itoa(i)
			list.Content = append(list.Content, more)
		}
	}
	for _, item := range list.Content {
		p.host(item)
	}
}

// mentions returns the number of members in a database that have the host, which is more than one
// for a DNS name with several addresses.
func (p pods) mentions(e *config.Experiment, item *yaml.Node) int {
	at := address(item)
	if at == nil || p.is(at.Value) {
		return 1
	}
	name, ok := strings.CutPrefix(at.Value, dnsPrefix)
	if !ok {
		return 1
	}
	name, _, _ = strings.Cut(name, ":")
	n := 1
	for _, db := range e.Databases {
		if len(db.Hosts) > 0 && db.Hosts[0].DNS == name {
			n = max(n, len(db.Hosts))
		}
	}
	return n
}

// is reports whether host is a pod name already.
func (p pods) is(host string) bool {
	name, ok := strings.CutPrefix(host, dnsPrefix+p.set+"-")
	return ok && strings.HasSuffix(name, "."+p.set+"."+p.namespace+".svc")
}

// address returns the node with a host address, or nil.
func address(item *yaml.Node) *yaml.Node {
	if item.Kind == yaml.AliasNode {
		item = item.Alias
	}
	switch item.Kind {
	case yaml.ScalarNode:
		return item
	case yaml.MappingNode:
		return value(item, "addr")
	}
	return nil
}

// clone copies a node; the copy shares nothing with it.
func clone(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	other := *node
	other.Anchor, other.Content = "", nil
	for _, child := range node.Content {
		other.Content = append(other.Content, clone(child))
	}
	return &other
}

// dnsPrefix begins a host that control looks up.
const dnsPrefix = "dns:"

// host puts a pod in place of a host: an address, or a mapping. One that is a pod name already, by
// an anchor, stays.
func (p pods) host(item *yaml.Node) {
	at := address(item)
	if at == nil || p.is(at.Value) {
		return
	}
	port := ""
	if given := value(item, "agent_port"); given != nil {
		port = ":" + given.Value
	}
	if item.Kind == yaml.AliasNode {
		item = item.Alias
	}
	remove(item, "agent_port")
	at.SetString(dnsPrefix + p.of(at.Value+port))
	at.Style = 0
}

// value returns the value of key in mapping, or nil.
func value(mapping *yaml.Node, key string) *yaml.Node {
	if mapping.Kind == yaml.AliasNode {
		mapping = mapping.Alias
	}
	for i := 0; mapping.Kind == yaml.MappingNode && i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value != key {
			continue
		}
		if is := mapping.Content[i+1]; is.Kind == yaml.AliasNode {
			return is.Alias
		}
		return mapping.Content[i+1]
	}
	return nil
}

// remove removes key from mapping; other nodes stay as they are.
func remove(mapping *yaml.Node, key string) {
	for i := 0; mapping.Kind == yaml.MappingNode && i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
			return
		}
	}
}

// nulls writes out empty values in mappings on one line, which would be written as empty text.
func nulls(node *yaml.Node, oneLine bool) {
	oneLine = oneLine || node.Style&yaml.FlowStyle != 0
	if oneLine && node.Kind == yaml.ScalarNode && node.Tag == "!!null" {
		node.Value = "null"
	}
	for _, child := range node.Content {
		nulls(child, oneLine)
	}
}
