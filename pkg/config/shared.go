package config

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// prefixPattern matches names that every database stores unchanged: path elements that begin with a
// letter or a digit.
var prefixPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)

// longestPrefix bounds a prefix in bytes: names in Consul may have 512.
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

// CheckPrefix returns an error if s is not a valid prefix.
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

// shared resolves the keys for a cluster that others use.
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
}

// PrefixSize returns the number of bytes in a stored name before the key itself, 0 for a cluster
// that only the load uses.
func (d *Database) PrefixSize() int {
	switch {
	case len(d.Endpoints) == 0:
		return 0
	case d.Prefix != "":
		return len(d.Prefix) + len("/")
	}
	return len(d.DefaultPrefix(strings.Repeat("0", runIDPart))) + len("/")
}

// runIDPart is the number of characters that a default prefix takes from the run id.
const runIDPart = 16

// DefaultPrefix returns the prefix, in a run with that id, for a database that does not give it.
// Several databases in one run may be the same cluster.
func (d *Database) DefaultPrefix(runID string) string {
	tag := strings.Map(func(c rune) rune {
		if strings.ContainsRune("+,=@", c) { // valid in a tag, but not in the names of every database
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
