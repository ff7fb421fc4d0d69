package etcd

import (
	"context"
	"strconv"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
)

var _ database.Bulker = (*Options)(nil)

// defaultTxnOps is the default of --max-txn-ops.
const defaultTxnOps = 128

// BulkSize returns the number of puts that fit into a transaction: at most --max-txn-ops, and no
// more bytes than a request may have.
func (o *Options) BulkSize(keySize, valueSize int) int {
	ops := defaultTxnOps
	for _, f := range o.Flags {
		name, value, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		if n, err := strconv.Atoi(value); name == "max-txn-ops" && err == nil {
			ops = n
		}
	}
	// A put in a transaction has up to five lengths of up to 5 bytes, and their tags.
	const perPut, request = 30, 64
	return max(1, min(ops, (o.requestBytes()-request)/(keySize+valueSize+perPut)))
}

// bulk writes with transactions over grpc-go.
type bulk struct {
	conn   *grpc.ClientConn
	kv     pb.KVClient
	prefix string
}

// DialBulk opens a connection; only the first request shows whether it works.
func (o *Options) DialBulk(_ context.Context, t database.Target) (database.Bulk, error) {
	conn, err := connect(t)
	if err != nil {
		return nil, err
	}
	return &bulk{conn, pb.NewKVClient(conn), t.KeyPrefix()}, nil
}

// PutAll writes all pairs in one transaction.
func (b *bulk) PutAll(ctx context.Context, pairs []database.Pair) error {
	txn := &pb.TxnRequest{Success: make([]*pb.RequestOp, len(pairs))}
	for i, p := range pairs {
		put := &pb.PutRequest{Key: append([]byte(b.prefix), p.Key...), Value: p.Value}
		txn.Success[i] = &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: put}}
	}
	_, err := b.kv.Txn(ctx, txn)
	return answer.Classify(err, true)
}

func (b *bulk) Close() error { return b.conn.Close() }
