package yamlfile

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Follow resolves an alias; it returns any other node unchanged.
func Follow(node *Node) *Node {
	for node.Kind == yaml.AliasNode && node.Alias != nil {
		node = node.Alias
	}
	return node
}

// IsNull reports whether a node is empty or null.
func IsNull(node *Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// IsMapping reports whether node is a mapping.
func IsMapping(node *Node) bool { return node.Kind == yaml.MappingNode }

// IsList reports whether node is a list.
func IsList(node *Node) bool { return node.Kind == yaml.SequenceNode }

// IsScalar reports whether node is a scalar that is not null.
func IsScalar(node *Node) bool { return node.Kind == yaml.ScalarNode && !IsNull(node) }

// IsText reports whether node is a scalar that YAML reads as text.
func IsText(node *Node) bool { return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str" }

// Describe names the kind of node, or quotes its first 40 bytes if it is a scalar, for messages
// such as "want a list, got ...".
func Describe(node *Node) string {
	switch {
	case node.Kind == yaml.MappingNode:
		return "a mapping"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case IsNull(node):
		return "nothing"
	case len(node.Value) > 40:
		return fmt.Sprintf("%q...", strings.ToValidUTF8(node.Value[:40], ""))
	default:
		return fmt.Sprintf("%q", node.Value)
	}
}

// TopKeys returns the mapping keys in file order, without those from merge keys. It returns nil for
// other nodes.
func TopKeys(node *Node) []*Node {
	if node.Kind != yaml.MappingNode {
		return nil
	}
	var list []*Node
	for i := 0; i+1 < len(node.Content); i += 2 {
		list = append(list, node.Content[i])
	}
	return list
}

// HasKey reports whether a mapping has one of the named keys, whether or not its value is valid.
// Keys from merged mappings do not count.
func HasKey(node *Node, names ...string) bool {
	for _, key := range TopKeys(node) {
		if slices.Contains(names, key.Value) {
			return true
		}
	}
	return false
}
