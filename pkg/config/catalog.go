package config

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Catalog holds the databases that a file may name.
type Catalog []database.Database

// entry finds the database that an id names: NAME or NAME__LABEL.
func (c Catalog) entry(r *yamlfile.Reader, id *yamlfile.Node) (database.Database, bool) {
	name, label, labelled := strings.Cut(id.Value, "__")
	if labelled && (label == "" || strings.Trim(label, labelChars) != "") {
		r.Errorf(id, "%q: the label after __ is one or more of a-z A-Z 0-9 _ . + -", id.Value)
		return database.Database{}, false
	}
	var names []string
	for _, e := range c {
		if e.Name == name {
			return e, true
		}
		names = append(names, e.Name)
	}
	r.Errorf(id, "unknown database %q%s", name, yamlfile.Hint(name, names))
	return database.Database{}, false
}

const labelChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-"

// operations returns the operations of all databases, in catalog order.
func (c Catalog) operations() []workload.Op {
	return union(c, func(e database.Database) []workload.Op { return e.Info.Operations })
}

// reads returns the read modes of all databases, in catalog order.
func (c Catalog) reads() []workload.ReadMode {
	return union(c, func(e database.Database) []workload.ReadMode { return e.Info.Reads })
}

func union[T comparable](c Catalog, of func(database.Database) []T) []T {
	var all []T
	for _, e := range c {
		for _, word := range of(e) {
			if !slices.Contains(all, word) {
				all = append(all, word)
			}
		}
	}
	return all
}
