package library

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
)

var _ database.Leaser = (*Client)(nil)

// Grant begins a lease.
func (c *Client) Grant(ctx context.Context, ttl time.Duration) (database.SessionID, error) {
	if err := ctx.Err(); err != nil {
		return database.SessionID{}, answer.Classify(err, false)
	}
	call := &call{Context: ctx}
	resp, err := c.upstream.Grant(call, int64((ttl+time.Second-1)/time.Second))
	if err != nil {
		return database.SessionID{}, call.classify(err)
	}
	return database.NumberedSession(int64(resp.ID)), nil
}

// KeepAlive renews a lease once. The library opens a stream for it, and opens another after a
// stream that failed: such a renewal counts as one call, and [Client.Resent] does not count it.
func (c *Client) KeepAlive(ctx context.Context, id database.SessionID) error {
	if err := ctx.Err(); err != nil {
		return answer.Classify(err, false)
	}
	resp, err := c.upstream.KeepAliveOnce(ctx, clientv3.LeaseID(id.Number()))
	if err != nil {
		return answer.WithoutLease(answer.Classify(err, true))
	}
	return answer.Renewed(resp.TTL)
}

// Revoke ends a lease.
func (c *Client) Revoke(ctx context.Context, id database.SessionID) error {
	if err := ctx.Err(); err != nil {
		return answer.Classify(err, false)
	}
	call := &call{Context: ctx}
	_, err := c.upstream.Revoke(call, clientv3.LeaseID(id.Number()))
	return answer.WithoutLease(call.classify(err))
}
