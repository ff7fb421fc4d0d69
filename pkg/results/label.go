package results

import (
	"strings"

	"github.com/coreos/dbtester/pkg/files/pattern"
)

// versionIn matches the version in a label: numbers behind a "v" or "r", or numbers with points.
var versionIn = pattern.New(`\b(?:[vVrR][0-9]+(?:\.[0-9]+)*|[0-9]+(?:\.[0-9]+)+)\b`)

// commit matches a requested version whose only number is followed by a letter.
var commit = pattern.New(`^[^0-9]*[0-9]+[A-Za-z]`)

// LabelAgrees reports whether the run label can be true for the version reported by a member:
// "v3.6" for "3.6.16". The requested version takes precedence over the label in the database id. A
// label without a version claims nothing, such as "tip", the amount "1GiB" or the client count in
// "2000". Neither does another program's version, such as the "etcd 3.7.3" behind a proxy.
func (r *DatabaseRun) LabelAgrees(version string) bool {
	claim := r.Asked
	if claim == "" {
		claim = versionIn().FindString(strings.ReplaceAll(r.Label, "_", "."))
	}
	if name, _, two := strings.Cut(version, " "); two && !strings.ContainsAny(name, "0123456789") {
		return true
	}
	claimed, ran := numbers(claim), numbers(version)
	if len(claimed) == 1 && commit().MatchString(claim) {
		return true
	}
	if len(claimed) > len(ran) {
		return len(ran) == 0
	}
	for i := range claimed {
		if claimed[i] != ran[i] {
			return false
		}
	}
	return true
}

// numbers returns the dotted numbers that begin a version, after letters.
func numbers(version string) []string {
	start := strings.IndexAny(version, "0123456789")
	if start < 0 {
		return nil
	}
	version = version[start:]
	if end := strings.IndexFunc(version, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); end >= 0 {
		version = version[:end]
	}
	return strings.Split(strings.Trim(version, "."), ".")
}
