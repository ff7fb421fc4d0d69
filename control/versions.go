package control

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// versions describes the version of each member, and the leader. A version that contradicts the
// label is written as in reports.
func versions(run *results.DatabaseRun) string {
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
		if !run.LabelAgrees(m.Version) {
			denied = m.Version
		}
	}
	text := strings.Join(each, ", ")
	switch {
	case len(each) == 0:
		text = "members do not report their version"
	case len(same) == 1 && len(each) == len(run.Members):
		text = "members run " + same[0]
		if denied != "" {
			text += fmt.Sprintf(", but the label says otherwise: %s (ran %s)", run.Tag, denied)
		}
	}
	if run.Leader >= 0 {
		text += fmt.Sprintf(", member %d leads", run.Leader+1)
	}
	return text
}

// contradicted reports whether a member has another version than its label.
func contradicted(run *results.DatabaseRun) bool {
	return slices.ContainsFunc(run.Members, func(m results.Member) bool {
		return m.Version != "" && !run.LabelAgrees(m.Version)
	})
}

// Words for member commands that come from no release.
const (
	builtIn  = "built-in"      // in the agent itself
	builtFor = "an executable" // given to the agent; its origin is unknown
)

// originOf describes the origin of member executables: in one word, or per command in the plan if
// they differ, such as a proxy and its server. "" is an unknown origin.
func originOf(r *results.Release, plan database.Plan) string {
	var words, parts []string
	for _, c := range plan.Commands {
		word, more := builtFor, ""
		switch {
		case c.Self:
			word = builtIn
		case r != nil && (len(plan.Commands) == 1 || r.SHA256[c.Name] != ""): // commands are named after their tools
			word, more = r.Kind, " "+r.Version
		}
		words = append(words, word)
		parts = append(parts, c.Name+" "+word+more)
	}
	if words = slices.Compact(words); len(words) != 1 {
		return strings.Join(parts, ", ")
	}
	if words[0] == builtFor {
		return ""
	}
	return words[0]
}
