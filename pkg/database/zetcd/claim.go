package zetcd

import (
	"context"
	"fmt"

	"github.com/coreos/dbtester/pkg/database"
)

var _ database.Claimer = (*Options)(nil)

// Claim implements [database.Claimer] as ZooKeeper does.
func (o *Options) Claim(ctx context.Context, t database.Target) (text []byte, version int64, err error) {
	text, version, err = o.protocol().Claim(ctx, t)
	return text, version, ofProxy(err)
}

// SetClaim implements [database.Claimer].
func (o *Options) SetClaim(ctx context.Context, t database.Target, text []byte, version int64) error {
	return ofProxy(o.protocol().SetClaim(ctx, t, text, version))
}

// RemoveClaim implements [database.Claimer].
func (o *Options) RemoveClaim(ctx context.Context, t database.Target) error {
	return ofProxy(o.protocol().RemoveClaim(ctx, t))
}

// ofProxy names the proxy in an error.
func ofProxy(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("zetcd: %w", err)
}
