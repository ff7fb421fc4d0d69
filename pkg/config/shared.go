package config

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Guard holds the bounds of a cluster that others use. A load that passes one ends.
type Guard struct {
	// P99 bounds the 99th percentile of the requests of any second; 0 is no bound.
	P99 time.Duration `json:"p99_ns,omitempty"`
	// Errors bounds the share of the requests of any second that failed or whose outcome
	// is unknown; nil is no bound.
	Errors *workload.Percent `json:"errors_percent,omitempty"`
	// DBSize bounds the size of the fullest member's store, as a share of its quota; nil
	// is no bound.
	DBSize *workload.Percent `json:"db_size_percent,omitempty"`
}

// prefixPattern matches names that every database stores as they are: elements of a path
// that begin with a letter or a digit.
var prefixPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)

// longestPrefix bounds a prefix in bytes: Consul's names may have 512 bytes.
const longestPrefix = 200

// prefixKind is the name below which keys lie.
func prefixKind() kind[string] {
	k := yamlfile.FilledKind()
	k.Parse = func(r *yamlfile.Reader, key string, node *yamlfile.Node) (string, bool) {
		s, ok := yamlfile.Filled(r, key, node)
		if !ok {
			return "", false
		}
		if err := CheckPrefix(s); err != nil {
			r.Errorf(node, "%s %v", key, err)
			return "", false
		}
		return s, true
	}
	k.Schema = schema{"type": "string", "pattern": prefixPattern.String(), "maxLength": longestPrefix}
	return k
}

// CheckPrefix returns why a text is no prefix, nil if it is one.
func CheckPrefix(s string) error {
	switch short := strings.TrimSuffix(s, "/"); {
	case len(s) > longestPrefix:
		return fmt.Errorf("must have at most %d bytes, got %d", longestPrefix, len(s))
	case short != s && prefixPattern.MatchString(short):
		return fmt.Errorf("must have no / at its end, got %q (did you mean %q?)", s, short)
	case !prefixPattern.MatchString(s):
		return fmt.Errorf("must have names of a-z A-Z 0-9 . _ - with / between them, each beginning with a letter or digit, got %q", s)
	}
	return nil
}

// guardSection declares the bounds of a guard.
func guardSection() section[Guard] {
	share := func(name, meaning string, at func(*Guard) **workload.Percent) field[Guard] {
		percent := percentKind()
		return key[Guard, *workload.Percent]{
			Row: row{Name: name, Unit: percent.Unit, Meaning: meaning}, At: at,
			Shown: func(g *Guard) bool { return *at(g) != nil },
			Kind: kind[*workload.Percent]{
				Parse: func(r *yamlfile.Reader, key string, node *yamlfile.Node) (*workload.Percent, bool) {
					p, ok := percent.Parse(r, key, node)
					return &p, ok
				},
				Node:   func(p *workload.Percent) *yamlfile.Node { return percent.Node(*p) },
				Schema: percent.Schema,
			},
		}.Field()
	}
	return section[Guard]{
		Fields: []field[Guard]{
			key[Guard, time.Duration]{
				Row:  row{Name: "p99", Meaning: "largest 99th percentile of the requests in a second, or longest time without an answer"},
				Kind: yamlfile.DurationKind(), At: func(g *Guard) *time.Duration { return &g.P99 },
				Shown: func(g *Guard) bool { return g.P99 > 0 },
			}.Field(),
			share("errors", "largest share of the requests in a second that fail or have an unknown outcome", func(g *Guard) **workload.Percent { return &g.Errors }),
			share("db_size", "largest size of any member's store, as a share of its quota; only for databases with a quota (etcd)", func(g *Guard) **workload.Percent { return &g.DBSize }),
		},
		Check: func(r *yamlfile.Reader, w *written[Guard]) {
			if w.Has("p99") && w.Is.P99 == 0 {
				r.Errorf(w.NodeOf("p99"), "p99 must be positive, got 0s; leave it out for no bound")
			}
		},
	}
}

// guardRow describes the key of a guard.
func guardRow(usually string) row {
	return row{Name: "guard", Usually: usually, Meaning: "bounds at which the load ends within 2 s: the [keys of guard](#keys-of-guard)"}
}

func showGuard(g *Guard) *yamlfile.Node {
	if g == nil {
		return nil
	}
	return guardSection().Show(g).Flow()
}

// shared resolves the keys of a cluster that others use.
func (r *databaseResolver) shared(d *Database) {
	runs := len(d.Endpoints) > 0
	if !runs {
		for _, name := range []string{"prefix", "cleanup", "reuse"} {
			if p := r.db.Place(name); p.Set() {
				r.Errorf(p.At, "%s: agents start %s for this run alone; it is for a cluster that is already running, given by endpoints", p.Key, r.spec.ID)
			}
		}
	}
	if runs && !can[database.Cleaner](r.spec) {
		if p := r.db.Place("prefix"); p.Set() {
			r.Errorf(p.At, "%s: the driver of %s cannot keep to a prefix", p.Key, r.spec.entry.Name)
		}
	}
	d.Cleanup = runs && d.Cleanup
	if runs && !r.db.Has("cleanup") {
		d.Cleanup = r.file.cleanup
	}
	if d.Cleanup && !can[database.Cleaner](r.spec) {
		r.Errorf(r.spec.id, "cleanup: the driver of %s cannot keep to a prefix", r.spec.entry.Name)
	}
	guard := r.file.guard
	if r.spec.guard.Given() {
		guard = r.spec.guard
	}
	if guard.Given() && guard.Is != (Guard{}) {
		is := guard.Is
		d.Guard = &is
		if is.DBSize != nil && !can[database.FillReporter](r.spec) {
			r.Errorf(guard.NodeOf("db_size"), "db_size: members of %s report no quota", r.spec.entry.Name)
		}
	}
}

// PrefixSize is how many bytes the stored name of a key begins with before the key
// itself, 0 for a cluster of the load's own.
func (d *Database) PrefixSize() int {
	switch {
	case len(d.Endpoints) == 0:
		return 0
	case d.Prefix != "":
		return len(d.Prefix) + len("/")
	}
	return len(d.DefaultPrefix(strings.Repeat("0", runIDPart))) + len("/")
}

// runIDPart is how many characters of a run's id a default prefix has.
const runIDPart = 16

// DefaultPrefix returns the prefix of a database that gives none, in a run with that id.
// Databases of one run may be the same cluster.
func (d *Database) DefaultPrefix(runID string) string {
	tag := strings.Map(func(c rune) rune {
		if strings.ContainsRune("+,=@", c) { // of a tag, but not of every database's names
			return '-'
		}
		return c
	}, d.Tag)
	return fmt.Sprintf("dbtester-%s-%s", runID[:min(len(runID), runIDPart)], tag)
}

// FullSpeed reports whether the load has a step without a rate on a cluster that others
// use.
func (d *Database) FullSpeed() bool {
	if len(d.Endpoints) == 0 || !d.Steps.Load {
		return false
	}
	for _, s := range d.Load.Stretches() {
		if s.Rate == 0 {
			return true
		}
	}
	return false
}
