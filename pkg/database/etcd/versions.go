package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
)

var (
	_ database.ManyVersions = (*client)(nil)
	_ database.ManyVersions = (*lean)(nil)
)

// Versions reads the mod revisions of keys by ranges without values.
func (c *client) Versions(ctx context.Context, keys [][]byte, versions []int64) error {
	return answer.ModRevisions(keys, versions, func(r *pb.RangeRequest) (*pb.RangeResponse, error) { return c.read(ctx, r, "") })
}

// Versions reads versions like [client.Versions].
func (c *lean) Versions(ctx context.Context, keys [][]byte, versions []int64) error {
	return answer.ModRevisions(keys, versions, func(r *pb.RangeRequest) (*pb.RangeResponse, error) {
		var resp pb.RangeResponse
		err := c.message(ctx, pathRange, r, len(keys), &resp)
		return &resp, err
	})
}
