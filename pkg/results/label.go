package results

import (
	"regexp"
	"strings"
)

// amount matches labels whose first number is followed by a unit.
var amount = regexp.MustCompile(`^[^0-9]*[0-9]+[A-Za-z]`)

// LabelAgrees reports whether the run's label can be true for the version that a member
// reported: "v3.6" for "3.6.16". The requested version takes precedence over the label in
// the database's id. A label without a number, such as "tip", or with an amount, such as
// "1GiB", claims nothing, and neither does the version of another program, such as the
// "etcd 3.7.3" behind a proxy.
func (r *DatabaseRun) LabelAgrees(version string) bool {
	label := r.Asked
	if label == "" {
		label = strings.ReplaceAll(r.ownLabel(), "_", ".")
	}
	if name, _, two := strings.Cut(version, " "); two && !strings.ContainsAny(name, "0123456789") {
		return true
	}
	claimed, ran := numbers(label), numbers(version)
	if len(claimed) == 1 && amount.MatchString(label) {
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

// ownLabel is the label without the point of a sweep, whose number is not a version.
func (r *DatabaseRun) ownLabel() string {
	if r.Swept == nil || r.Swept.Text == "" {
		return r.Label
	}
	return strings.TrimSuffix(strings.TrimSuffix(r.Label, string(r.Swept.Key)+"-"+r.Swept.Text), "-")
}

// numbers are the dotted numbers that a version begins with, after letters.
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
