package config

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Catalog holds the databases that a file may name. The program makes it from the
// registry, so that this package imports no database.
type Catalog []Entry

// Entry is one database of a catalog.
type Entry struct {
	Name string
	// Options returns a pointer to a new options struct with every default.
	Options func() any
	// Validate returns every option that the database would refuse on any machine,
	// joined. Each error begins with its option's key, or names a flag. It may be nil.
	Validate func(options any) error
	// Reads and Operations are those that the database supports; the first read mode is
	// its default.
	Reads      []workload.ReadMode
	Operations []workload.Op
	// Failover is the default of the database's clients.
	Failover workload.Failover
	// Ports are the default ports by role.
	Ports map[string]int
	// SharedConn allows fewer connections than clients.
	SharedConn bool
	// TLS allows encrypted connections, Auth credentials of clients.
	TLS, Auth bool
	// MaxValue is the largest value in bytes. Options with a method
	// MaxValue(keySize int) int take precedence.
	MaxValue int
	// Leader allows connections to the leader or the followers: members report it.
	Leader bool
	// Prefix allows keys below a prefix of a cluster that others use, Sizes a bound of the
	// store's size: members report it with their quota.
	Prefix, Sizes bool
	// FitMemory changes options that the file does not give to fit what a member may use, in
	// bytes; given reports whether the file gives one. Each of its joined errors begins with
	// an option's key, or with "memory". It is nil for databases without such options.
	FitMemory func(options any, bytes int64, given func(option string) bool) error
	// Embedded needs no version.
	Embedded bool
	// Upstream changes options to the defaults of a release, "" being the one that runs
	// without a version. It is nil if these are not known.
	Upstream func(options any, version string)
	// Classic changes options, before a classic file is read into them, to those of the
	// classic tool where they differ from today's, and describes the change. It may be nil.
	Classic func(options any) string
}

// entry finds the database that an id names: NAME or NAME__LABEL.
func (c Catalog) entry(r *yamlfile.Reader, id *yamlfile.Node) (Entry, bool) {
	name, label, labelled := strings.Cut(id.Value, "__")
	if labelled && (label == "" || strings.Trim(label, labelChars) != "") {
		r.Errorf(id, "%q: the label after __ is one or more of a-z A-Z 0-9 _ . + -", id.Value)
		return Entry{}, false
	}
	var names []string
	for _, e := range c {
		if e.Name == name {
			return e, true
		}
		names = append(names, e.Name)
	}
	r.Errorf(id, "unknown database %q%s", name, yamlfile.Hint(name, names))
	return Entry{}, false
}

const labelChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-"

// operations returns the operations of all databases, in the order of the catalog.
func (c Catalog) operations() []workload.Op {
	return union(c, func(e Entry) []workload.Op { return e.Operations })
}

// reads returns the read modes of all databases, in the order of the catalog.
func (c Catalog) reads() []workload.ReadMode {
	return union(c, func(e Entry) []workload.ReadMode { return e.Reads })
}

func union[T comparable](c Catalog, of func(Entry) []T) []T {
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

// reader reads one experiment file against a catalog.
type reader struct {
	*yamlfile.Reader
	catalog Catalog
	variant Variant
}
