package fault

import (
	"context"

	"github.com/coreos/dbtester/pkg/fault/nft"
)

// partition drops all packets between a member and others.
func partition() Kind {
	return Kind{
		Name:     "partition",
		Meaning:  "the packets between it and `from` are dropped, in one `direction` or both: connections stay open, nothing arrives",
		groups:   true,
		keys:     []string{"from", "direction", "beside"},
		possible: nft.Check,
		check:    checkCut,
		apply: func(_ context.Context, v Victim, r Record) (string, error) {
			return drop(v, r, nft.Whole)
		},
		undo: func(_ context.Context, v Victim, r Record) (string, error) { return pass(v, r) },
	}
}
