package yamlfile

import (
	"cmp"
	"slices"
)

// Given is a value a file may contain, with its key and place. The zero Given means that the file
// does not contain it.
type Given[T any] struct {
	Is  T
	Key string
	At  *Node
}

// Set reports whether the file contains the value.
func (g Given[T]) Set() bool { return g.At != nil }

// Or returns the value, or d if the file does not contain it.
func (g Given[T]) Or(d T) T {
	if g.Set() {
		return g.Is
	}
	return d
}

// Place returns the key and the node with the value.
func (g Given[T]) Place() Place { return Place{g.Key, g.At} }

// Place is the key and the node with a value. At is nil if the file does not contain the value.
type Place struct {
	Key string
	At  *Node
}

// Set reports whether the file contains the value.
func (p Place) Set() bool { return p.At != nil }

// PlacesInOrder returns the places that exist in the file, in file order.
func PlacesInOrder(places ...Place) []Place {
	places = slices.DeleteFunc(places, func(p Place) bool { return p.At == nil })
	slices.SortFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
	return places
}

// Parser reads one value. If the value is wrong, it reports why and returns false; key names the
// value in the report.
type Parser[T any] func(r *Reader, key string, node *Node) (T, bool)

// Into returns a reader that parses values into g. A value that fails to parse counts as not given.
func Into[T any](r *Reader, g *Given[T], parse Parser[T]) func(string, *Node) {
	return func(key string, node *Node) {
		if is, ok := parse(r, key, node); ok {
			*g = Given[T]{is, key, node}
		}
	}
}
