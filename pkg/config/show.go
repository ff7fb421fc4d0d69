package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"
)

// Show writes an experiment as a compact file with every default filled in, the
// drivers' options too, each under its line of help. Read again it gives the
// same experiment, but for Path and Classic.
func Show(e *Experiment) ([]byte, error) {
	var databases mapping
	for _, d := range e.Databases {
		node, err := showDatabase(d)
		if err != nil {
			return nil, fmt.Errorf("show %s: %w", d.ID, err)
		}
		databases.add(d.ID, node)
	}
	var top mapping
	top.add("title", text(e.Title))
	top.addIf(e.Description != "", "description", text(e.Description))
	top.add("seed", plain(e.Seed))
	top.add("trials", plain(e.Trials))
	top.add("settle", duration(e.Settle))
	top.add("results", text(e.Results))
	top.add("steps", showSteps(e.Steps))
	top.add("databases", databases.node())
	top.add("plots", list(e.Plots, false, func(p Plot) *yaml.Node {
		return flow(mapping{}.with("column", text(p.Column)).with("x_axis", text(p.XAxis)).with("y_axis", text(p.YAxis)))
	}))
	if e.Profile != nil {
		top.add("profile", showProfile(e.Profile))
	}
	if u := e.Upload; u != nil {
		var m mapping
		m.add("url", text(u.URL))
		m.addIf(u.KeyFile != "", "key_file", text(u.KeyFile))
		m.addIf(u.Project != "", "project", text(u.Project))
		top.add("upload", m.node())
	}
	top.addIf(len(e.Export) > 0, "export", showPaths(e.Export))
	top.addIf(len(e.Inputs) > 0, "inputs", showInputs(e.Inputs))
	top.addIf(!reflect.DeepEqual(e.Report, Report{}), "report", showReport(e.Report))
	data, err := yaml.Dump(top.node(), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, fmt.Errorf("show experiment: %w", err)
	}
	return data, nil
}

func showDatabase(d Database) (*yaml.Node, error) {
	var m mapping
	m.add("tag", text(d.Tag))
	m.addIf(d.Description != "", "description", text(d.Description))
	m.addIf(d.Version != "", "version", text(d.Version))
	m.addIf(d.Binary == "", "install", plain(d.Install))
	m.addIf(d.Binary != "", "binary", text(d.Binary))
	m.addIf(len(d.Hosts) > 0, "hosts", list(d.Hosts, false, showHost))
	m.addIf(len(d.Endpoints) > 0, "endpoints", list(d.Endpoints, true, text))
	if d.TLS != nil {
		m.add("tls", showTLS(d.TLS))
	}
	if d.Auth != nil {
		m.add("auth", showAuth(d.Auth))
	}
	m.add("steps", showSteps(d.Steps))
	m.add("load", showLoad(d.Load))
	options, err := showOptions(d)
	if err != nil {
		return nil, err
	}
	m.addIf(options != nil, "options", options)
	return m.node(), nil
}

func showHost(h Host) *yaml.Node {
	var ports mapping
	for _, role := range slices.Sorted(maps.Keys(h.Ports)) {
		ports.add(role, plain(h.Ports[role]))
	}
	m := mapping{}.with("addr", text(h.Addr)).with("agent_port", plain(h.AgentPort))
	m.addIf(len(h.Ports) > 0, "ports", flow(ports))
	return flow(m)
}

func showSteps(s Steps) *yaml.Node {
	return flow(mapping{}.with("start", plain(s.Start)).with("load", plain(s.Load)).
		with("stop", plain(s.Stop)).with("upload", plain(s.Upload)))
}

func showLoad(l Load) *yaml.Node {
	stepped := len(l.Steps) > 0
	var m mapping
	m.addIf(len(l.Mix) == 0, "operation", text(l.Operation))
	m.addIf(len(l.Mix) > 0 && l.Workload == "", "mix", showMix(l.Mix))
	m.addIf(l.Workload != "", "workload", commented(text(l.Workload), percents(l.Mix)))
	m.addIf(l.Keys > 0, "keys", plain(l.Keys))
	m.addIf(l.KeyLaw != "", "key_law", text(l.KeyLaw))
	m.addIf(l.RangeLimit > 0, "range_limit", plain(l.RangeLimit))
	m.addIf(!stepped && l.Requests > 0, "requests", plain(l.Requests))
	m.addIf(!stepped && l.Duration > 0, "duration", duration(l.Duration))
	m.addIf(!stepped, "clients", plain(l.Clients))
	m.addIf(!stepped, "connections", plain(l.Connections))
	m.addIf(stepped, "steps", list(l.Steps, false, showStep))
	m.add("rate", rate(l.Rate))
	m.addIf(l.RateEnd > 0, "rate_end", rate(l.RateEnd))
	m.addIf(!stepped && l.Rate == 0, "ramp", duration(l.Ramp))
	m.addIf(l.rated(), "arrival", text(l.Arrival))
	m.addIf(l.rated(), "backlog", text(l.Backlog))
	m.add("key_size", plain(l.KeySize))
	m.add("value_size", plain(l.ValueSize))
	m.addIf(l.ValueSizeMax > 0, "value_size_max", plain(l.ValueSizeMax))
	m.add("same_key", plain(l.SameKey))
	m.addIf(l.Read != "", "read", text(l.Read))
	m.add("timeout", duration(l.Timeout))
	m.addIf(l.rated(), "drain", duration(l.Drain))
	m.add("warm_up", duration(l.WarmUp))
	m.add("cool_down", duration(l.CoolDown))
	m.add("target", text(l.Target))
	return m.node()
}

func showStep(s Step) *yaml.Node {
	var m mapping
	m.add("clients", plain(s.Clients))
	m.add("connections", plain(s.Connections))
	m.addIf(s.Requests > 0, "requests", plain(s.Requests))
	m.addIf(s.Duration > 0, "duration", duration(s.Duration))
	m.add("rate", rate(s.Rate))
	m.addIf(s.RateEnd > 0, "rate_end", rate(s.RateEnd))
	m.addIf(s.Ramp > 0, "ramp", duration(s.Ramp))
	return flow(m)
}

func showMix(mix []Share) *yaml.Node {
	var m mapping
	for _, s := range mix {
		m.add(s.Operation, rate(s.Weight))
	}
	return flow(m)
}

// showOptions is a driver's options with each field's help above it.
func showOptions(d Database) (*yaml.Node, error) {
	data, err := encodeOptions(d.Options)
	if err != nil || data == nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Load(data, &document); err != nil {
		return nil, fmt.Errorf("decode options: %w", err)
	}
	node := document.Content[0]
	helpOptions(node, reflect.ValueOf(d.Options))
	return node, nil
}

// helpOptions puts the help of every field of v above its key.
func helpOptions(node *yaml.Node, v reflect.Value) {
	if node.Kind != yaml.MappingNode {
		return
	}
	for _, o := range optionsOf(v) {
		for i := 0; i+1 < len(node.Content); i += 2 {
			if key, value := node.Content[i], node.Content[i+1]; key.Value == o.name {
				key.HeadComment = o.doc
				helpOptions(value, o.value)
			}
		}
	}
}

func showPaths(paths map[string]string) *yaml.Node {
	var m mapping
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		m.add(name, text(paths[name]))
	}
	return m.node()
}

func showInputs(inputs map[string]Inputs) *yaml.Node {
	var all mapping
	for _, tag := range slices.Sorted(maps.Keys(inputs)) {
		in := inputs[tag]
		var m mapping
		m.addIf(len(in.Files) > 0, "files", showPaths(in.Files))
		m.addIf(len(in.Servers) > 0, "servers", list(in.Servers, false, text))
		m.addIf(len(in.Outputs) > 0, "outputs", showPaths(in.Outputs))
		all.add(tag, m.node())
	}
	return all.node()
}

func showReport(r Report) *yaml.Node {
	var m mapping
	m.addIf(r.TableCSV != "", "table_csv", text(r.TableCSV))
	m.addIf(r.TableTXT != "", "table_txt", text(r.TableTXT))
	m.addIf(r.PlotDir != "", "plot_dir", text(r.PlotDir))
	m.addIf(r.README != "", "readme", text(r.README))
	m.addIf(len(r.Images) > 0, "images", list(r.Images, false, func(i Image) *yaml.Node {
		return mapping{}.with("title", text(i.Title)).with("path", text(i.Path)).with("type", text(i.Type)).node()
	}))
	return m.node()
}

// mapping is a mapping node under construction.
type mapping struct{ content []*yaml.Node }

func (m *mapping) add(key string, value *yaml.Node) {
	m.content = append(m.content, text(key), value)
}

func (m *mapping) addIf(wanted bool, key string, value *yaml.Node) {
	if wanted {
		m.add(key, value)
	}
}

// with is add for a chain.
func (m mapping) with(key string, value *yaml.Node) mapping {
	m.add(key, value)
	return m
}

func (m mapping) node() *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: m.content}
}

// flow is the mapping on one line.
func flow(m mapping) *yaml.Node {
	node := m.node()
	node.Style = yaml.FlowStyle
	return node
}

func list[T any](items []T, oneLine bool, show func(T) *yaml.Node) *yaml.Node {
	node := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	if oneLine || len(items) == 0 {
		node.Style = yaml.FlowStyle
	}
	for _, item := range items {
		node.Content = append(node.Content, show(item))
	}
	return node
}

func text(s string) *yaml.Node {
	node := &yaml.Node{}
	node.SetString(s)
	return node
}

// plain is a number or a boolean.
func plain(v any) *yaml.Node {
	tag := "!!int"
	if _, ok := v.(bool); ok {
		tag = "!!bool"
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: fmt.Sprint(v)}
}

// commented is a node with a comment behind it.
func commented(node *yaml.Node, comment string) *yaml.Node {
	node.LineComment = comment
	return node
}

func rate(f float64) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatFloat(f, 'f', -1, 64)}
}

func duration(d time.Duration) *yaml.Node { return text(d.String()) }
