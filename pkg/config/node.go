package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// reader walks the nodes of one file and gathers what is wrong with it.
type reader struct {
	file     string
	catalog  Catalog
	classic  bool // read by the classic schema, booleans by YAML 1.1
	problems []Problem
	warnings []Problem
	merges   int // merge keys followed so far
}

func (r *reader) errorf(at *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, r.problem(at, format, args...))
}

func (r *reader) warnf(at *yaml.Node, format string, args ...any) {
	p := r.problem(at, format, args...)
	p.Warning = true
	r.warnings = append(r.warnings, p)
}

func (r *reader) problem(at *yaml.Node, format string, args ...any) Problem {
	p := Problem{File: r.file, Text: fmt.Sprintf(format, args...)}
	if at != nil {
		p.Line, p.Col = at.Line, at.Column
	}
	return p
}

// pair is one key of a mapping with its value, aliases resolved.
type pair struct{ key, value *yaml.Node }

// keys says what to do with each key that a mapping may have.
type keys map[string]func(key string, value *yaml.Node)

// fields hands every value of a mapping to its key's function. An unknown key, a
// key given twice and a node that is no mapping are errors; an empty node is an
// empty mapping.
func (r *reader) fields(what string, node *yaml.Node, known keys) {
	for _, p := range r.pairs(what, node) {
		read, ok := known[p.key.Value]
		if !ok {
			r.unknownKey(p.key, known)
			continue
		}
		read(p.key.Value, p.value)
	}
}

func (r *reader) unknownKey(key *yaml.Node, known keys) {
	names := make([]string, 0, len(known))
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	r.errorf(key, "unknown key %q%s", key.Value, hint(key.Value, names))
}

// pairs returns the keys and values of a mapping in the order of the file. Those
// of merge keys (<<) come last and never replace the mapping's own.
func (r *reader) pairs(what string, node *yaml.Node) []pair {
	node = follow(node)
	if isNull(node) {
		return nil
	}
	if node.Kind != yaml.MappingNode {
		r.errorf(node, "%s: want a mapping, got %s", what, describe(node))
		return nil
	}
	var own []pair
	var merged []*yaml.Node
	lines := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := follow(node.Content[i]), follow(node.Content[i+1])
		switch {
		case key.Kind != yaml.ScalarNode:
			r.errorf(node.Content[i], "%s: want a key, got %s", what, describe(key))
		case key.ShortTag() == "!!merge":
			merged = append(merged, value)
		case lines[key.Value] > 0:
			r.errorf(key, "key %q is given twice (first in line %d)", key.Value, lines[key.Value])
		default:
			lines[key.Value] = key.Line
			own = append(own, pair{key, value})
		}
	}
	for _, m := range merged {
		for _, p := range r.merge(what, m) {
			if lines[p.key.Value] == 0 {
				lines[p.key.Value] = p.key.Line
				own = append(own, p)
			}
		}
	}
	return own
}

// maxMerges bounds how many merge keys a file may use, all together, so that
// anchors merged into one another cannot grow without end.
const maxMerges = 1000

func (r *reader) merge(what string, node *yaml.Node) []pair {
	r.merges++
	if r.merges > maxMerges {
		if r.merges == maxMerges+1 {
			r.errorf(node, "%s: too many merge keys (<<), or one that merges itself", what)
		}
		return nil
	}
	if node.Kind != yaml.SequenceNode {
		return r.pairs(what, node)
	}
	var all []pair
	for _, child := range node.Content {
		all = append(all, r.pairs(what, child)...)
	}
	return all
}

// items returns the values of a list; an empty node is an empty list.
func (r *reader) items(what string, node *yaml.Node) ([]*yaml.Node, bool) {
	node = follow(node)
	if isNull(node) {
		return nil, true
	}
	if node.Kind != yaml.SequenceNode {
		r.errorf(node, "%s: want a list, got %s", what, describe(node))
		return nil, false
	}
	list := make([]*yaml.Node, len(node.Content))
	for i, child := range node.Content {
		list[i] = follow(child)
	}
	return list, true
}

// follow returns what an alias stands for.
func follow(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode && node.Alias != nil {
		node = node.Alias
	}
	return node
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// describe says what a node is, in a message about what it should have been.
func describe(node *yaml.Node) string {
	switch {
	case node.Kind == yaml.MappingNode:
		return "a mapping"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(node):
		return "nothing"
	case len(node.Value) > 40:
		return fmt.Sprintf("%q...", strings.ToValidUTF8(node.Value[:40], ""))
	default:
		return fmt.Sprintf("%q", node.Value)
	}
}
