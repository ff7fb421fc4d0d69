package config

import "slices"

// operations are those of any database of the catalog, in its order.
func (c Catalog) operations() []string {
	return c.words(func(e Entry) []string { return e.Operations })
}

// reads are the read modes of any database of the catalog, in its order.
func (c Catalog) reads() []string {
	return c.words(func(e Entry) []string { return e.Reads })
}

func (c Catalog) words(of func(Entry) []string) []string {
	var all []string
	for _, e := range c {
		for _, word := range of(e) {
			if !slices.Contains(all, word) {
				all = append(all, word)
			}
		}
	}
	return all
}
