package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
	"github.com/coreos/dbtester/pkg/database/etcd/unary"
)

// MaxTxnKeys is the maximum number of operations that etcd accepts in one transaction by default
// (--max-txn-ops).
const MaxTxnKeys = 128

var (
	_ database.Transactor = (*client)(nil)
	_ database.Transactor = (*lean)(nil)
	_ database.TxnLimiter = (*Options)(nil)
)

// guarded returns the transaction by which Kubernetes makes a guarded update: it compares each
// key's mod revision, and then either puts all keys or reads them.
func guarded(puts []database.GuardedPut) *pb.TxnRequest {
	r := &pb.TxnRequest{}
	for i := range puts {
		p := &puts[i]
		r.Compare = append(r.Compare, &pb.Compare{
			Key: p.Key, Target: pb.Compare_MOD, Result: pb.Compare_EQUAL,
			TargetUnion: &pb.Compare_ModRevision{ModRevision: p.Version},
		})
		r.Success = append(r.Success, &pb.RequestOp{
			Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: p.Key, Value: p.Value}},
		})
		r.Failure = append(r.Failure, &pb.RequestOp{
			Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: p.Key}},
		})
	}
	return r
}

// versionOf returns the request that reads a key's version.
func versionOf(key []byte) *pb.RangeRequest { return &pb.RangeRequest{Key: key, KeysOnly: true} }

// Txn makes all puts if the keys have the expected mod revisions. The answer to a conflict has the
// current ones.
func (c *client) Txn(ctx context.Context, puts []database.GuardedPut) error {
	if err := ctx.Err(); err != nil {
		return answer.Classify(err, false)
	}
	var p peer.Peer
	resp, err := c.kv.Txn(ctx, guarded(puts), grpc.Peer(&p))
	if err != nil {
		return answer.WithoutTxn(answer.Classify(err, p.Addr != nil))
	}
	return answer.Settle(puts, resp)
}

// Version returns the mod revision of key.
func (c *client) Version(ctx context.Context, key []byte) (int64, error) {
	resp, err := c.read(ctx, versionOf(key), "")
	if err != nil {
		return 0, err
	}
	return answer.ModRevision(resp), nil
}

// Txn applies guarded puts like [client.Txn].
func (c *lean) Txn(ctx context.Context, puts []database.GuardedPut) error {
	var resp pb.TxnResponse
	if err := c.message(ctx, pathTxn, guarded(puts), len(puts), &resp); err != nil {
		return answer.WithoutTxn(err)
	}
	return answer.Settle(puts, &resp)
}

// Version returns the mod revision of key.
func (c *lean) Version(ctx context.Context, key []byte) (int64, error) {
	var resp pb.RangeResponse
	if err := c.message(ctx, pathRange, versionOf(key), 1, &resp); err != nil {
		return 0, err
	}
	return answer.ModRevision(&resp), nil
}

// message makes a call whose answer has at most keys keys and their values.
func (c *lean) message(ctx context.Context, path string, request proto.Message, keys int, into proto.Message) error {
	text, err := proto.Marshal(request)
	if err != nil {
		return database.NotApplied(database.ClassOther, err)
	}
	return c.call(ctx, path, &unary.Message{Rest: text, MaxReply: c.rangeReply(keys)}, func(reply []byte) (keep bool, err error) {
		return false, proto.Unmarshal(reply, into)
	})
}

// MaxTxnValue returns the largest value for each key in a transaction of that many keys. The log
// entry contains the value once and each key three times: for the comparison, the put and the read
// after a conflict.
func (s *Server) MaxTxnValue(keySize, keys int) int {
	if keys > MaxTxnKeys {
		return 0
	}
	size := func(value int) int {
		key := protowire.SizeTag(1) + protowire.SizeBytes(keySize)
		put := key + protowire.SizeTag(2) + protowire.SizeBytes(value)
		nested := func(n int) int { return protowire.SizeTag(1) + protowire.SizeBytes(n) }
		compare := key + 2*(protowire.SizeTag(1)+1) + protowire.SizeTag(1) + maxVarint
		return entrySize(0, 0, maxVarint) + keys*(nested(compare)+nested(nested(put))+nested(nested(key)))
	}
	// A larger value never has a shorter entry, so bisect the range.
	low, high := 0, s.requestBytes()
	for low < high {
		mid := (low + high + 1) / 2
		if size(mid) <= s.requestBytes() {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}
