package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
)

// arrivedTimeout bounds the wait for members that are behind.
const arrivedTimeout = 30 * time.Second

// awaitKeys waits until every member that the load targets has the keys written
// before it. Only stale reads can miss them.
func (c *conductor) awaitKeys(ctx context.Context, spec load.Spec, clients int) error {
	if spec.Read != database.ReadStale {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, arrivedTimeout, fmt.Errorf("not there after %v", arrivedTimeout))
	defer cancel()
	members, err := c.targets()
	if err != nil {
		return err
	}
	conns, _, err := c.dial(ctx, len(members)) // one to each
	if err != nil {
		return err
	}
	return errors.Join(load.AwaitKeys(ctx, spec, clients, conns), closeAll(conns))
}
