package control

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
)

// The words for parts of a member that are no release.
const (
	builtIn  = "built-in"      // in the agent's own binary
	builtFor = "an executable" // that the agent was told of, from nobody knows where
)

// builtOf says how what an agent runs was obtained: in one word if that is all of
// it, else for each command of the plan, such as a proxy and the server that it
// stands before. "" is an executable of which nobody knows.
func builtOf(reply *dbtesterpb.StartResponse, plan database.Plan) string {
	var words, parts []string
	for _, c := range plan.Commands {
		word, more := builtFor, ""
		switch r := reply.Release; {
		case c.Self:
			word = builtIn
		case r != nil && (len(plan.Commands) == 1 || r.Sha256[c.Name] != ""): // commands have the names of their tools
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
