package etcd

import (
	"bytes"
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/coreos/dbtester/pkg/database"
)

var (
	_ database.ManyVersions = (*client)(nil)
	_ database.ManyVersions = (*lean)(nil)
)

// Versions reads the mod revisions of keys by ranges without values.
func (c *client) Versions(ctx context.Context, keys [][]byte, versions []int64) error {
	return modRevisions(keys, versions, func(r *pb.RangeRequest) (*pb.RangeResponse, error) { return c.read(ctx, r, "") })
}

// Versions is [client.Versions].
func (c *lean) Versions(ctx context.Context, keys [][]byte, versions []int64) error {
	return modRevisions(keys, versions, func(r *pb.RangeRequest) (*pb.RangeResponse, error) {
		var resp pb.RangeResponse
		err := c.message(ctx, pathRange, r, len(keys), &resp)
		return &resp, err
	})
}

// modRevisions reads the keys from the first to the last in as few ranges as there are
// pages of that many keys. Others' keys that lie between are passed over.
func modRevisions(keys [][]byte, versions []int64, read func(*pb.RangeRequest) (*pb.RangeResponse, error)) error {
	clear(versions) // to database.NoVersion
	if len(keys) == 0 {
		return nil
	}
	r := &pb.RangeRequest{Key: keys[0], RangeEnd: after(keys[len(keys)-1]), Limit: int64(len(keys)), KeysOnly: true}
	for i := 0; ; {
		resp, err := read(r)
		if err != nil {
			return err
		}
		for _, kv := range resp.Kvs {
			for i < len(keys) && bytes.Compare(keys[i], kv.Key) < 0 {
				i++
			}
			if i < len(keys) && bytes.Equal(keys[i], kv.Key) {
				versions[i] = kv.ModRevision
			}
		}
		if !resp.More || len(resp.Kvs) == 0 {
			return nil
		}
		r.Key = after(resp.Kvs[len(resp.Kvs)-1].Key)
	}
}

// after returns the first key that is greater.
func after(key []byte) []byte { return append(append(make([]byte, 0, len(key)+1), key...), 0) }
