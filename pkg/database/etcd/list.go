package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
	"github.com/coreos/dbtester/pkg/workload"
)

var (
	_ database.Lister = (*client)(nil)
	_ database.Lister = (*lean)(nil)
	_ database.Lister = (*below)(nil)
)

// List implements [database.Lister].
func (c *client) List(ctx context.Context, how workload.RangeMode, key []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	return c.ListTo(ctx, how, key, []byte(toEnd), limit, mode)
}

func (c *client) ListTo(ctx context.Context, how workload.RangeMode, key, end []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	if how == workload.RangeStream {
		return c.stream(ctx, &pb.RangeRequest{Key: key, RangeEnd: end, Serializable: mode == workload.ReadStale})
	}
	return answer.List(how, key, end, limit, func(r *pb.RangeRequest) (*pb.RangeResponse, error) { return c.read(ctx, r, mode) })
}

// List implements [database.Lister].
func (c *lean) List(ctx context.Context, how workload.RangeMode, key []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	return c.ListTo(ctx, how, key, []byte(toEnd), limit, mode)
}

func (c *lean) ListTo(ctx context.Context, how workload.RangeMode, key, end []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	if how == workload.RangeStream {
		return c.stream(ctx, key, end, mode)
	}
	return answer.List(how, key, end, limit, func(r *pb.RangeRequest) (*pb.RangeResponse, error) {
		r.Serializable = mode == workload.ReadStale
		var resp pb.RangeResponse
		err := c.message(ctx, pathRange, r, int(r.Limit), &resp)
		return &resp, err
	})
}

// List reads keys below the prefix.
func (b *below) List(ctx context.Context, how workload.RangeMode, key []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	return b.on.ListTo(ctx, how, append([]byte(b.prefix), key...), []byte(behind(b.prefix)), limit, mode)
}
