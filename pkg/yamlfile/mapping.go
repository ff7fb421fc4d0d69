package yamlfile

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v4"
)

// Pair is one key in a mapping with its value, with aliases resolved.
type Pair struct{ Key, Value *Node }

// Keys holds a reader for each allowed key.
type Keys map[string]func(key string, value *Node)

// Fields calls the reader for every key in the mapping node. It reports unknown and repeated keys,
// and a node that is not a mapping, by the name what. An empty node is an empty mapping.
func (r *Reader) Fields(what string, node *Node, known Keys) {
	for _, p := range r.Pairs(what, node) {
		if r.full() {
			return
		}
		read, ok := known[p.Key.Value]
		if !ok {
			names := slices.Sorted(maps.Keys(known))
			r.Errorf(p.Key, "unknown key %q%s", p.Key.Value, Hint(p.Key.Value, names))
			continue
		}
		read(p.Key.Value, p.Value)
	}
}

// Pairs returns the keys and values in file order. Pairs from merge keys (<<) come last and never
// replace the mapping's own. It reports repeated keys, and a node that is not a mapping.
func (r *Reader) Pairs(what string, node *Node) []Pair {
	node = Follow(node)
	if IsNull(node) {
		return nil
	}
	if node.Kind != yaml.MappingNode {
		r.Errorf(node, "%s: want a mapping, got %s", what, Describe(node))
		return nil
	}
	if !r.afford(node, len(node.Content)/2) {
		return nil
	}
	var own []Pair
	var merged []*Node
	lines := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := Follow(node.Content[i]), Follow(node.Content[i+1])
		switch {
		case key.Kind != yaml.ScalarNode:
			r.Errorf(node.Content[i], "%s: want a key, got %s", what, Describe(key))
		case key.ShortTag() == "!!merge":
			merged = append(merged, value)
		case lines[key.Value] > 0:
			r.Errorf(key, "key %q is given twice (first in line %d)", key.Value, lines[key.Value])
		default:
			lines[key.Value] = key.Line
			own = append(own, Pair{key, value})
		}
	}
	for _, m := range merged {
		for _, p := range r.merge(what, m) {
			if lines[p.Key.Value] == 0 {
				lines[p.Key.Value] = p.Key.Line
				own = append(own, p)
			}
		}
	}
	return own
}

// maxMerges limits the merge keys followed in one file, so that reading ends even if anchors are
// merged into one another.
const maxMerges = 1000

func (r *Reader) merge(what string, node *Node) []Pair {
	r.merges++
	if r.merges > maxMerges {
		if r.merges == maxMerges+1 {
			r.Errorf(node, "%s: too many merge keys (<<), or one that merges itself", what)
		}
		return nil
	}
	if node.Kind != yaml.SequenceNode {
		return r.Pairs(what, node)
	}
	var all []Pair
	for _, child := range node.Content {
		all = append(all, r.Pairs(what, child)...)
	}
	return all
}

// Items returns the values in the list with aliases resolved, and reports a node that is not a
// list. An empty node is an empty list.
func (r *Reader) Items(what string, node *Node) ([]*Node, bool) {
	node = Follow(node)
	if IsNull(node) {
		return nil, true
	}
	if node.Kind != yaml.SequenceNode {
		r.Errorf(node, "%s: want a list, got %s", what, Describe(node))
		return nil, false
	}
	if !r.afford(node, len(node.Content)) {
		return nil, false
	}
	list := make([]*Node, len(node.Content))
	for i, child := range node.Content {
		list[i] = Follow(child)
	}
	return list, true
}
