package consul

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/coreos/dbtester/pkg/database"
)

var _ database.Snapshotter = (*Options)(nil)

// Snapshot makes a member take a snapshot of its state, and reads the snapshot. The token must be a
// management token.
func (o *Options) Snapshot(ctx context.Context, t database.Target, member int) (size int64, err error) {
	err = o.members(t).ask(member, func(c *client) error {
		resp, err := c.get(ctx, "/v1/snapshot?stale")
		if err != nil {
			return err
		}
		size, err = io.Copy(io.Discard, resp.Body)
		return errors.Join(err, resp.Body.Close())
	})
	if err != nil {
		return 0, fmt.Errorf("snapshot of consul member %d: %w", member, err)
	}
	return size, nil
}
