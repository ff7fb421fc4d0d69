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

// ListTo reads like List, up to a key, which is not read.
func (c *Client) ListTo(ctx context.Context, how workload.RangeMode, key, end []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	return c.list(ctx, how, key, end, limit, mode)
}

// list reads up to an exclusive end; nil is after all keys.
func (c *Client) list(ctx context.Context, how workload.RangeMode, key, end []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	to := clientv3.WithFromKey()
	if end != nil {
		to = clientv3.WithRange(string(end))
	}
	if how == workload.RangeStream {
		return c.stream(ctx, key, mode, to)
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

// stream reads as a stream, which the library never asks for again.
func (c *Client) stream(ctx context.Context, key []byte, mode workload.ReadMode, options ...clientv3.OpOption) (keys int, size int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, answer.Classify(err, false)
	}
	if mode == workload.ReadStale {
		options = append(options, clientv3.WithSerializable())
	}
	parts, err := c.upstream.GetStream(ctx, string(key), options...)
	var sum answer.Parts
	if err == nil {
		for part := range parts {
			if part.RangeResponse == nil {
				err = part.Err()
				continue // to the end, for which a library goroutine waits
			}
			sum.Add(part.RangeResponse)
		}
	}
	if err != nil {
		return 0, 0, answer.WithoutStream(answer.Classify(err, true))
	}
	return sum.Sum()
}
