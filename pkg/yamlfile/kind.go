package yamlfile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Kind defines how the values of a key are read, shown and described.
type Kind[T any] struct {
	// Unit is the text in the unit column of the documentation.
	Unit   string
	Parse  Parser[T]
	Node   func(T) *Node
	Schema Schema
	// Nested, if set, replaces Schema for a kind that contains sections.
	Nested func() Schema
}

func (k Kind[T]) describe() Schema {
	if k.Nested != nil {
		return k.Nested()
	}
	return clone(k.Schema)
}

// mustParse parses preset. It panics if the declaration is wrong; a test of all declarations finds
// this.
func (k Kind[T]) mustParse(name, preset string) T {
	r := New("default")
	is, ok := k.Parse(r, name, PlainNode(preset))
	if !ok {
		panic(fmt.Sprintf("yamlfile: default of %s: %v", name, r.Err()))
	}
	return is
}

// TextKind accepts any text.
func TextKind() Kind[string] {
	return Kind[string]{Unit: "text", Parse: Text, Node: TextNode, Schema: Schema{"type": []string{"string", "number", "boolean"}}}
}

// ProseKind accepts text for people, which may have several lines.
func ProseKind() Kind[string] {
	k := TextKind()
	k.Parse = Prose
	return k
}

// FilledKind accepts text that is not empty.
func FilledKind() Kind[string] {
	k := TextKind()
	k.Parse = Filled
	return k
}

// TruthKind accepts true or false.
func TruthKind() Kind[bool] {
	return Kind[bool]{Unit: "true or false", Parse: Truth, Node: TruthNode, Schema: Schema{"type": "boolean"}}
}

// WholeKind accepts a whole number, 0 or more.
func WholeKind() Kind[int64] {
	return Kind[int64]{Unit: "number", Parse: Whole, Node: WholeNode[int64], Schema: Schema{"type": "integer", "minimum": 0}}
}

// SmallKind accepts a whole number from 0 to the largest int32.
func SmallKind() Kind[int] {
	return Kind[int]{Unit: "number", Parse: Small, Node: WholeNode[int], Schema: Schema{"type": "integer", "minimum": 0}}
}

// UnsignedKind accepts a whole number from 0 to the largest uint64.
func UnsignedKind() Kind[uint64] {
	return Kind[uint64]{Unit: "number", Parse: Unsigned, Node: WholeNode[uint64], Schema: Schema{"type": "integer", "minimum": 0}}
}

// PortKind accepts a port from 1 to 65535.
func PortKind() Kind[int] {
	return Kind[int]{Unit: "port", Parse: Port, Node: WholeNode[int], Schema: Schema{"type": "integer", "minimum": 1, "maximum": 65535}}
}

// PerSecondKind accepts a rate from 0 to 1e9 requests per second.
func PerSecondKind() Kind[float64] {
	return Kind[float64]{Unit: "requests/s", Parse: PerSecond, Node: NumberNode, Schema: Schema{"type": "number", "minimum": 0, "maximum": 1e9}}
}

// FactorKind accepts a number from 0 to 1e9 without a unit.
func FactorKind() Kind[float64] {
	return Kind[float64]{
		Parse: func(r *Reader, key string, node *Node) (float64, bool) {
			f, ok := Number(r, key, node)
			if ok && (math.IsNaN(f) || f < 0 || f > 1e9) {
				r.Errorf(node, "%s must be from 0 to 1e9, got %s", key, node.Value)
				return 0, false
			}
			return f, ok
		},
		Node:   NumberNode,
		Schema: Schema{"type": "number", "minimum": 0, "maximum": 1e9},
	}
}

// DurationKind accepts a time with a unit, such as 10s.
func DurationKind() Kind[time.Duration] {
	return Kind[time.Duration]{Unit: "time", Parse: Duration, Node: DurationNode, Schema: Schema{"anyOf": []Schema{
		{"const": 0}, {"type": "string", "pattern": `^\+?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$`}}}}
}

// ShortDurationKind accepts the same as [DurationKind], for times that are usually in milliseconds.
// The hint for a number without a unit suggests ms.
func ShortDurationKind() Kind[time.Duration] {
	k := DurationKind()
	k.Parse = func(r *Reader, key string, node *Node) (time.Duration, bool) { return durationLike(r, key, node, "ms") }
	return k
}

// SizeKind accepts a byte count, with or without a unit.
func SizeKind() Kind[int] {
	return Kind[int]{Unit: "bytes", Parse: Size, Node: WholeNode[int], Schema: Schema{"anyOf": []Schema{
		{"type": "integer", "minimum": 0}, {"type": "string", "pattern": `^[0-9.]+ *([KMG]i?)?B$`}}}}
}

// LargeSizeKind accepts a byte count, with or without a unit, up to 2^53.
func LargeSizeKind() Kind[int64] {
	return Kind[int64]{Unit: "bytes", Parse: LargeSize, Node: WholeNode[int64], Schema: SizeKind().Schema}
}

// WordKind accepts one word of a closed set.
func WordKind[T ~string](known ...T) Kind[T] {
	one := OneOf(Words(known)...)
	return Kind[T]{
		Unit: "word",
		Parse: func(r *Reader, key string, node *Node) (T, bool) {
			s, ok := one(r, key, node)
			return T(s), ok
		},
		Node:   func(s T) *Node { return TextNode(string(s)) },
		Schema: Schema{"enum": Words(known)},
	}
}

// Words returns a closed set as texts.
func Words[T ~string](set []T) []string {
	list := make([]string, len(set))
	for i, w := range set {
		list[i] = string(w)
	}
	return list
}

// ListKind accepts a list of values of one kind, each on its own line unless oneLine is set. An
// empty list is not nil.
func ListKind[T any](item Kind[T], oneLine bool) Kind[[]T] {
	return Kind[[]T]{
		Unit: "list",
		Parse: func(r *Reader, key string, node *Node) ([]T, bool) {
			all, ok := List(item.Parse)(r, key, node)
			if ok && all == nil {
				all = []T{}
			}
			return all, ok
		},
		Node:   func(all []T) *Node { return ListNode(all, oneLine, item.Node) },
		Nested: func() Schema { return Schema{"type": []string{"array", "null"}, "items": item.describe()} },
	}
}

// TextMapKind accepts a mapping from any keys to texts, shown in alphabetical order.
func TextMapKind() Kind[map[string]string] {
	return Kind[map[string]string]{
		Unit:  "mapping",
		Parse: TextMap,
		Node: func(texts map[string]string) *Node {
			var m Mapping
			for _, name := range slices.Sorted(maps.Keys(texts)) {
				m.Add(name, TextNode(texts[name]))
			}
			return m.Node()
		},
		Schema: Schema{"type": []string{"object", "null"}, "additionalProperties": TextKind().Schema},
	}
}

// SectionKind accepts a mapping whose places are not needed after reading. If any value in it is
// rejected, the mapping counts as not given.
func SectionKind[S any](what string, s Section[S], flow bool) Kind[S] {
	return Kind[S]{
		Unit: "mapping",
		Parse: func(r *Reader, key string, node *Node) (S, bool) {
			name := what
			if name == "" {
				name = key
			}
			w := s.Read(r, "", name, node)
			return s.Filled(w), true
		},
		Node: func(is S) *Node {
			if flow {
				return s.Show(&is).Flow()
			}
			return s.Show(&is).Node()
		},
		Nested: s.Schema,
	}
}
