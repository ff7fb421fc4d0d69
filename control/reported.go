package control

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// reported says what the members of a run told of themselves: their versions, and
// which of them leads. A version that the label denies stands as it does in
// reports.
func reported(run *results.DatabaseRun) string {
	label := cmp.Or(run.Asked, strings.ReplaceAll(run.Label, "_", "."))
	var each, same []string
	denied := ""
	for _, m := range run.Members {
		if m.Version == "" {
			continue
		}
		each = append(each, fmt.Sprintf("member %d runs %s", m.Index+1, m.Version))
		if len(same) == 0 || same[0] != m.Version {
			same = append(same, m.Version)
		}
		if denies(label, m.Version) {
			denied = m.Version
		}
	}
	text := strings.Join(each, ", ")
	switch {
	case len(each) == 0:
		text = "members do not tell their version"
	case len(same) == 1 && len(each) == len(run.Members):
		text = "members run " + same[0]
		if denied != "" {
			text += fmt.Sprintf(", the label says otherwise: %s (ran %s)", run.Tag, denied)
		}
	}
	if run.Leader >= 0 {
		text += fmt.Sprintf(", member %d leads", run.Leader+1)
	}
	return text
}

// denies tells whether a label such as "v3.6" cannot be true of a version. One
// that begins with no number claims nothing.
func denies(label, version string) bool {
	plain := database.PlainVersion(label)
	if plain == "" || plain[0] < '0' || plain[0] > '9' {
		return false
	}
	rest, found := strings.CutPrefix(version, plain)
	return !found || rest != "" && rest[0] != '.' && rest[0] != '-'
}
