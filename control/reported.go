package control

import (
	"fmt"
	"strings"

	"github.com/coreos/dbtester/pkg/results"
)

// reported says what the members of a run told of themselves: their versions, and
// which of them leads. A version that the label denies stands as it does in
// reports.
func reported(run *results.DatabaseRun) string {
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
