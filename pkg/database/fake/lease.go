package fake

import (
	"context"
	"strconv"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

var _ database.Leaser = (*client)(nil)

// Grant begins a session.
func (c *client) Grant(ctx context.Context, ttl time.Duration) (id database.SessionID, err error) {
	data, err := c.do(ctx, opGrant, strconv.AppendInt(nil, max(ttl, leastTTL).Milliseconds(), 10), nil)
	if err != nil {
		return id, err
	}
	return granted(data)
}

// KeepAlive renews a session.
func (c *client) KeepAlive(ctx context.Context, id database.SessionID) error {
	_, err := c.do(ctx, opKeep, id[:sessionID], nil)
	return noSession(err)
}

// Revoke ends a session. The leader does not report whether the session existed.
func (c *client) Revoke(ctx context.Context, id database.SessionID) error {
	_, err := c.do(ctx, opRelease, id[:sessionID], nil)
	return err
}
