package fake

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
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

// granted returns the session in the answer to a grant.
func granted(data []byte) (id database.SessionID, err error) {
	if len(data) != sessionID {
		return id, database.MaybeApplied(database.ClassOther, fmt.Errorf("a session has a number of %d bytes, got %d", sessionID, len(data)))
	}
	return database.NumberedSession(int64(binary.BigEndian.Uint64(data))), nil
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

// noSession returns the error of a request about a session that the leader does not have.
func noSession(err error) error {
	if errors.Is(err, database.ErrNotFound) {
		return database.NotApplied(database.ClassNotFound, database.ErrNoSession)
	}
	return err
}
