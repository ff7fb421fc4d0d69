package yamlfile

import (
	"cmp"
	"slices"
)

// Given is a value that a file may give, with its key and place. The zero Given
// was not given.
type Given[T any] struct {
	Is  T
	Key string
	At  *Node
}

// Set reports whether the file gave the value.
func (g Given[T]) Set() bool { return g.At != nil }

// Or returns the value, or d if the file gave none.
func (g Given[T]) Or(d T) T {
	if g.Set() {
		return g.Is
	}
	return d
}

// Place returns the key and the node of the value.
func (g Given[T]) Place() Place { return Place{g.Key, g.At} }

// Place is the key and the node of a value. At is nil if the file gave none.
type Place struct {
	Key string
	At  *Node
}

// Set reports whether the file gave the value.
func (p Place) Set() bool { return p.At != nil }

// PlacesInOrder returns the places that a file has, in its order.
func PlacesInOrder(places ...Place) []Place {
	places = slices.DeleteFunc(places, func(p Place) bool { return p.At == nil })
	slices.SortFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
	return places
}

// Parser reads one value. It returns false after reporting why the value is wrong;
// key names the value in the report.
type Parser[T any] func(r *Reader, key string, node *Node) (T, bool)

// Into returns a reader that parses a value into g. A value that does not parse
// counts as not given.
func Into[T any](r *Reader, g *Given[T], parse Parser[T]) func(string, *Node) {
	return func(key string, node *Node) {
		if is, ok := parse(r, key, node); ok {
			*g = Given[T]{is, key, node}
		}
	}
}
