package config

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v4"
)

// experiment reads a document by the schema that its keys belong to.
func (r *reader) experiment(root *yaml.Node) *Experiment {
	compact, classic := r.compactKeys(&fileSpec{}), r.classicKeys(&classicFile{})
	inCompact, inClassic := firstKey(root, compact), firstKey(root, classic)
	switch {
	case inCompact != nil && inClassic != nil:
		r.mixed(inCompact, inClassic)
		return nil
	case inClassic != nil, inCompact == nil && looksLike(root, classic):
		r.classic = true
		return r.resolve(r.classicSpec(root))
	default:
		return r.resolve(r.compactSpec(root))
	}
}

// mixed reports that a file has keys of both schemas, at the later one.
func (r *reader) mixed(compact, classic *yaml.Node) {
	later, is, earlier, was := compact, "compact", classic, "classic"
	if compact.Line < classic.Line {
		later, is, earlier, was = classic, "classic", compact, "compact"
	}
	r.errorf(later, "%q is of the %s schema, but %q (line %d) of the %s one; a file keeps to one of them",
		later.Value, is, earlier.Value, earlier.Line, was)
}

// firstKey is the first key of a document that a schema has.
func firstKey(root *yaml.Node, schema keys) *yaml.Node {
	for _, key := range topKeys(root) {
		if schema[key.Value] != nil {
			return key
		}
	}
	return nil
}

// looksLike reports whether some key of a document nearly is one of the schema.
func looksLike(root *yaml.Node, schema keys) bool {
	names := slices.Collect(maps.Keys(schema))
	return slices.ContainsFunc(topKeys(root), func(key *yaml.Node) bool {
		return nearest(key.Value, names) != ""
	})
}

func topKeys(root *yaml.Node) []*yaml.Node {
	if root.Kind != yaml.MappingNode {
		return nil
	}
	var list []*yaml.Node
	for i := 0; i+1 < len(root.Content); i += 2 {
		list = append(list, root.Content[i])
	}
	return list
}
