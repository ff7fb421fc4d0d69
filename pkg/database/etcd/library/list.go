package library

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
	"github.com/coreos/dbtester/pkg/workload"
)

var _ database.Lister = (*Client)(nil)

// List implements [database.Lister].
func (c *Client) List(ctx context.Context, how workload.RangeMode, key []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	return c.list(ctx, how, key, nil, limit, mode)
}

// ListTo is List up to a key, which is not read.
func (c *Client) ListTo(ctx context.Context, how workload.RangeMode, key, end []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	return c.list(ctx, how, key, end, limit, mode)
}

// list reads up to an exclusive end; nil is after all keys.
func (c *Client) list(ctx context.Context, how workload.RangeMode, key, end []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	to := clientv3.WithFromKey()
	if end != nil {
		to = clientv3.WithRange(string(end))
	}
	return answer.List(how, key, end, limit, func(r *pb.RangeRequest) (*pb.RangeResponse, error) {
		options := []clientv3.OpOption{to, clientv3.WithLimit(r.Limit), clientv3.WithRev(r.Revision)}
		if r.KeysOnly {
			options = append(options, clientv3.WithKeysOnly())
		}
		if r.CountOnly {
			options = append(options, clientv3.WithCountOnly())
		}
		return c.read(ctx, r.Key, mode, options...)
	})
}
