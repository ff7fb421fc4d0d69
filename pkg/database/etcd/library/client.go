package library

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
	"github.com/coreos/dbtester/pkg/workload"
)

// Client applies operations through the library, which takes keys and values as strings
// and so copies both. It is safe for concurrent use and keeps neither key nor value.
//
// The library sends some requests again; see [Client.Resent]. Such a request is one call,
// which lasts from its first attempt to its last answer. If it fails it is unknown, unless
// each attempt was refused or not sent.
type Client struct {
	upstream *clientv3.Client // nil if the dial failed
	attempts attempts
	end      context.CancelFunc // for the library context
}

var (
	_ database.WholeKeys = (*Client)(nil)
	_ database.Ranger    = (*Client)(nil)
	_ database.Resender  = (*Client)(nil)
)

// Resent returns the number of attempts that the library has made after the first of each call. It
// sends a request again
//
//   - with a new token, after a member refused the old one;
//   - if it only reads, after an error with the code Unavailable: a connection that broke, or a
//     member without a leader. It makes up to 100 attempts, 25 ms apart each time it has asked a
//     majority of its endpoints;
//   - after a member or gRPC reported a deadline or a cancellation although the call's own
//     context has not ended.
//
// gRPC itself repeats a request that surely no server has seen. That is not counted.
func (c *Client) Resent() int64 { return c.attempts.resent.Load() }

// Put creates or overwrites key.
func (c *Client) Put(ctx context.Context, key, value []byte) error {
	if err := ctx.Err(); err != nil {
		return answer.Classify(err, false)
	}
	call := &call{Context: ctx}
	_, err := c.upstream.Put(call, string(key), string(value))
	return call.classify(err)
}

// Get returns the value of key.
func (c *Client) Get(ctx context.Context, key []byte, mode workload.ReadMode) ([]byte, error) {
	resp, err := c.read(ctx, key, mode)
	if err != nil {
		return nil, err
	}
	if len(resp.Kvs) == 0 {
		return nil, database.ErrNotFound
	}
	return resp.Kvs[0].Value, nil
}

// Range reads up to limit keys and their values, from key on in byte order. The range has no end,
// so the server also counts all keys that follow.
func (c *Client) Range(ctx context.Context, key []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	return c.rangeOf(ctx, key, clientv3.WithFromKey(), limit, mode)
}

// RangeTo reads like Range, up to a key, which is not read.
func (c *Client) RangeTo(ctx context.Context, key, end []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	return c.rangeOf(ctx, key, clientv3.WithRange(string(end)), limit, mode)
}

func (c *Client) rangeOf(ctx context.Context, key []byte, to clientv3.OpOption, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	resp, err := c.read(ctx, key, mode, to, clientv3.WithLimit(int64(limit)))
	if err != nil {
		return 0, 0, err
	}
	for _, kv := range resp.Kvs {
		size += int64(len(kv.Value))
	}
	return len(resp.Kvs), size, nil
}

// Delete removes key.
func (c *Client) Delete(ctx context.Context, key []byte) error {
	if err := ctx.Err(); err != nil {
		return answer.Classify(err, false)
	}
	call := &call{Context: ctx}
	_, err := c.upstream.Delete(call, string(key))
	return call.classify(err)
}

// Swap sets key to value in one transaction if it holds old. A missing key is a
// conflict.
func (c *Client) Swap(ctx context.Context, key, old, value []byte) error {
	if err := ctx.Err(); err != nil {
		return answer.Classify(err, false)
	}
	call, name := &call{Context: ctx}, string(key)
	resp, err := c.upstream.Txn(call).
		If(clientv3.Compare(clientv3.Value(name), "=", string(old))).
		Then(clientv3.OpPut(name, string(value))).
		Commit()
	switch {
	case err != nil:
		return call.classify(err)
	case !resp.Succeeded:
		return call.doubt(database.NotApplied(database.ClassConflict, answer.ErrConflict))
	}
	return nil
}

// Txn makes all puts if the keys have the expected mod revisions. The answer to a conflict has the
// current ones.
func (c *Client) Txn(ctx context.Context, puts []database.GuardedPut) error {
	if err := ctx.Err(); err != nil {
		return answer.Classify(err, false)
	}
	conditions, writes, reads := make([]clientv3.Cmp, len(puts)), make([]clientv3.Op, len(puts)), make([]clientv3.Op, len(puts))
	for i := range puts {
		name := string(puts[i].Key)
		conditions[i] = clientv3.Compare(clientv3.ModRevision(name), "=", puts[i].Version)
		writes[i] = clientv3.OpPut(name, string(puts[i].Value))
		reads[i] = clientv3.OpGet(name)
	}
	call := &call{Context: ctx}
	resp, err := c.upstream.Txn(call).If(conditions...).Then(writes...).Else(reads...).Commit()
	if err != nil {
		return answer.WithoutTxn(call.classify(err))
	}
	return call.doubt(answer.Settle(puts, (*pb.TxnResponse)(resp)))
}

// Version returns the mod revision of key.
func (c *Client) Version(ctx context.Context, key []byte) (int64, error) {
	resp, err := c.read(ctx, key, "", clientv3.WithKeysOnly())
	if err != nil {
		return 0, err
	}
	return answer.ModRevision(resp), nil
}

// Versions reads the mod revisions of keys by ranges without values.
func (c *Client) Versions(ctx context.Context, keys [][]byte, versions []int64) error {
	return answer.ModRevisions(keys, versions, func(r *pb.RangeRequest) (*pb.RangeResponse, error) {
		return c.read(ctx, r.Key, "", clientv3.WithRange(string(r.RangeEnd)), clientv3.WithLimit(r.Limit), clientv3.WithKeysOnly())
	})
}

// Close closes the connections. Calls that run end.
func (c *Client) Close() error {
	defer c.end()
	if c.attempts.closed.Swap(true) || c.upstream == nil {
		return nil
	}
	return c.upstream.Close()
}

// read reads keys; the zero mode is linearizable.
func (c *Client) read(ctx context.Context, key []byte, mode workload.ReadMode, options ...clientv3.OpOption) (*pb.RangeResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, answer.Classify(err, false)
	}
	if mode == workload.ReadStale {
		options = append(options, clientv3.WithSerializable())
	}
	call := &call{Context: ctx}
	resp, err := c.upstream.Get(call, string(key), options...)
	return (*pb.RangeResponse)(resp), call.classify(err)
}
