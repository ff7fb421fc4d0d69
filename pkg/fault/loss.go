package fault

import (
	"context"

	"github.com/coreos/dbtester/pkg/fault/nft"
)

// loss drops a share of the packets between a member and others.
func loss() Kind {
	return Kind{
		Name:     "loss",
		Meaning:  "a share of these packets is dropped, as `loss` says",
		groups:   true,
		keys:     []string{"from", "direction", "beside", "loss"},
		possible: nft.Check,
		check: func(p Parameters) error {
			if _, err := shareOf(p.Loss); err != nil {
				return err
			}
			return checkCut(p)
		},
		apply: func(_ context.Context, v Victim, r Record) (string, error) {
			p, err := r.decoded()
			if err != nil {
				return "", err
			}
			share, err := shareOf(p.Loss)
			if err != nil {
				return "", err
			}
			return drop(v, r, share)
		},
		undo: func(_ context.Context, v Victim, r Record) (string, error) { return pass(v, r) },
	}
}
