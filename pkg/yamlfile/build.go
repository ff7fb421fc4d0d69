package yamlfile

import (
	"fmt"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"
)

// Mapping builds a mapping node with keys in the order in which they are added. The zero Mapping is
// empty.
type Mapping struct{ content []*Node }

// Add appends a key with its value.
func (m *Mapping) Add(key string, value *Node) {
	m.content = append(m.content, TextNode(key), value)
}

// Node returns the mapping as a node with one key per line.
func (m Mapping) Node() *Node {
	return &Node{Kind: yaml.MappingNode, Tag: "!!map", Content: m.content}
}

// Flow returns the mapping as a node on one line.
func (m Mapping) Flow() *Node {
	node := m.Node()
	node.Style = yaml.FlowStyle
	return node
}

// ListNode returns a list of the nodes made by show. It is written on one line if oneLine is set or
// if it is empty.
func ListNode[T any](items []T, oneLine bool, show func(T) *Node) *Node {
	node := &Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	if oneLine || len(items) == 0 {
		node.Style = yaml.FlowStyle
	}
	for _, item := range items {
		node.Content = append(node.Content, show(item))
	}
	return node
}

// TextNode returns text as a node, quoted where YAML would otherwise read another value.
func TextNode(s string) *Node {
	node := &Node{}
	node.SetString(s)
	return node
}

// PlainNode returns the value a file would write in this form: 10s, true or 1e6. It returns nil if
// s is not YAML.
func PlainNode(s string) *Node {
	var document Node
	if err := yaml.Load([]byte(s), &document); err != nil || len(document.Content) == 0 {
		return nil
	}
	return document.Content[0]
}

// WholeNode returns n as a node.
func WholeNode[T ~int | ~int64 | ~uint64](n T) *Node {
	return &Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprint(n)}
}

// TruthNode returns b as a node.
func TruthNode(b bool) *Node {
	return &Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(b)}
}

// NumberNode returns f as a node with all necessary digits and no exponent.
func NumberNode(f float64) *Node {
	return &Node{Kind: yaml.ScalarNode, Value: strconv.FormatFloat(f, 'f', -1, 64)}
}

// DurationNode returns d as a node, such as 1m30s.
func DurationNode(d time.Duration) *Node { return TextNode(d.String()) }

// Dump writes node as a file. Lines may have any length.
func Dump(node *Node) ([]byte, error) { return yaml.Dump(node, yaml.WithLineWidth(-1)) }
