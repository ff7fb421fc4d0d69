package control

import (
	"fmt"
	"strings"

	"github.com/coreos/dbtester/pkg/results"
)

// judgeLinks marks a trial whose agents let in anyone: others may have changed what was
// measured. The agents were called before by [Check].
func judgeLinks(o Options) []results.Mark {
	if o.Unguarded == nil {
		return nil
	}
	addrs := o.Unguarded()
	if len(addrs) == 0 {
		return nil
	}
	return []results.Mark{{Code: results.MarkInsecure, Text: fmt.Sprintf(
		"control called agents without TLS or token (--insecure): %s; anyone who reached them could read, stop or change this run", strings.Join(addrs, ", "))}}
}
