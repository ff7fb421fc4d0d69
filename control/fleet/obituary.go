package fleet

import (
	"fmt"
	"slices"
	"strings"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// endOf describes why a session ended without a request from this run. A child ended by itself only
// if no signal from outside ended it.
func endOf(reason string, children []*pb.Child) string {
	switch reason {
	case "":
		return gone
	case "child died":
		for _, child := range children {
			if signal, killed := strings.CutPrefix(child.Exit, "killed by "); killed && slices.Contains(foreign, signal) {
				return "it was killed by another process, or by the kernel because memory ran out"
			}
		}
		return "it ended by itself"
	default:
		if strings.HasPrefix(reason, pb.ReasonMemoryLimit) {
			return "it was " + reason + ", which the experiment set"
		}
		return "its agent stopped it: " + reason
	}
}

// foreign are signals that failing programs never send themselves. Exits after a signal from the
// agent have more words.
var foreign = []string{"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"}

// obituary describes why a member ended and how each process ended, with the last lines of their
// logs.
func obituary(reason string, children []*pb.Child) string {
	var b strings.Builder
	b.WriteString(reason)
	for _, child := range children {
		if child.Running {
			continue
		}
		fmt.Fprintf(&b, "\n%s: %s", child.Name, child.Exit)
		if child.Tail != "" {
			fmt.Fprintf(&b, "; its last lines:\n%s", strings.TrimRight(child.Tail, "\n"))
		}
	}
	return b.String()
}
