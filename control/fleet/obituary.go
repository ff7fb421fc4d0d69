package fleet

import (
	"fmt"
	"strings"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// endOf words the reason of a session that this run did not end. Only a child that died
// ended by itself.
func endOf(reason string) string {
	switch reason {
	case "", "child died":
		return "it ended by itself"
	default:
		return "its agent stopped it: " + reason
	}
}

// obituary is why a member ended, and how each of its processes did, with the last
// lines of their logs.
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
