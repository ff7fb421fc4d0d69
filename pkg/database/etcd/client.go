package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
	"github.com/coreos/dbtester/pkg/workload"
)

// client applies operations over grpc-go. It is safe for concurrent use. Requests are
// encoded before a call returns, so it keeps neither key nor value.
type client struct {
	conn *grpc.ClientConn
	kv   pb.KVClient
}

var (
	_ database.Client  = (*client)(nil)
	_ database.Deleter = (*client)(nil)
	_ database.Ranger  = (*client)(nil)
	_ database.Swapper = (*client)(nil)
)

// Put creates or overwrites key.
func (c *client) Put(ctx context.Context, key, value []byte) error {
	if err := ctx.Err(); err != nil {
		return answer.Classify(err, false)
	}
	var p peer.Peer
	_, err := c.kv.Put(ctx, &pb.PutRequest{Key: key, Value: value}, grpc.Peer(&p))
	return answer.Classify(err, p.Addr != nil)
}

// Get returns the value of key.
func (c *client) Get(ctx context.Context, key []byte, mode workload.ReadMode) ([]byte, error) {
	resp, err := c.read(ctx, &pb.RangeRequest{Key: key}, mode)
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
func (c *client) Range(ctx context.Context, key []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	return c.RangeTo(ctx, key, []byte(toEnd), limit, mode)
}

func (c *client) RangeTo(ctx context.Context, key, end []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	resp, err := c.read(ctx, &pb.RangeRequest{Key: key, RangeEnd: end, Limit: int64(limit)}, mode)
	if err != nil {
		return 0, 0, err
	}
	for _, kv := range resp.Kvs {
		size += int64(len(kv.Value))
	}
	return len(resp.Kvs), size, nil
}

// Delete removes key.
func (c *client) Delete(ctx context.Context, key []byte) error {
	if err := ctx.Err(); err != nil {
		return answer.Classify(err, false)
	}
	var p peer.Peer
	_, err := c.kv.DeleteRange(ctx, &pb.DeleteRangeRequest{Key: key}, grpc.Peer(&p))
	return answer.Classify(err, p.Addr != nil)
}

// Swap sets key to value in one transaction if it holds old. A missing key is a
// conflict.
func (c *client) Swap(ctx context.Context, key, old, value []byte) error {
	if err := ctx.Err(); err != nil {
		return answer.Classify(err, false)
	}
	var p peer.Peer
	resp, err := c.kv.Txn(ctx, swap(key, old, value), grpc.Peer(&p))
	switch {
	case err != nil:
		return answer.Classify(err, p.Addr != nil)
	case !resp.Succeeded:
		return database.NotApplied(database.ClassConflict, answer.ErrConflict)
	}
	return nil
}

// swap returns the transaction that sets key to value if it holds old.
func swap(key, old, value []byte) *pb.TxnRequest {
	return &pb.TxnRequest{
		Compare: []*pb.Compare{{
			Key: key, Target: pb.Compare_VALUE, Result: pb.Compare_EQUAL,
			TargetUnion: &pb.Compare_Value{Value: old},
		}},
		Success: []*pb.RequestOp{{
			Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: key, Value: value}},
		}},
	}
}

// Close closes the connection.
func (c *client) Close() error { return c.conn.Close() }

func (c *client) read(ctx context.Context, r *pb.RangeRequest, mode workload.ReadMode) (*pb.RangeResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, answer.Classify(err, false)
	}
	r.Serializable = mode == workload.ReadStale
	var p peer.Peer
	resp, err := c.kv.Range(ctx, r, grpc.Peer(&p))
	return resp, answer.Classify(err, p.Addr != nil)
}

// toEnd as the end of a range means all keys from the start on; as both start and end it means all
// keys.
const toEnd = "\x00"

// created returns the condition that a key was created at a revision; 0 means that the key does not
// exist.
func created(key []byte, revision int64) *pb.Compare {
	return &pb.Compare{
		Key: key, Target: pb.Compare_CREATE, Result: pb.Compare_EQUAL, TargetUnion: &pb.Compare_CreateRevision{CreateRevision: revision},
	}
}
