package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
)

// Clean deletes keys below the prefix by their names, in transactions of at most cleanBatch keys.
// Any member may answer.
func (o *Options) Clean(ctx context.Context, t database.Target, which database.Removable, removed func(int64)) error {
	if t.Prefix == "" {
		return errors.New("clean etcd: there is no prefix")
	}
	t.Prefer = -1
	conn, err := connect(t)
	if err != nil {
		return fmt.Errorf("clean etcd: %w", err)
	}
	if err = errors.Join(clean(ctx, pb.NewKVClient(conn), t.KeyPrefix(), which, removed), conn.Close()); err != nil {
		return fmt.Errorf("clean etcd: %w", err)
	}
	return nil
}

func clean(ctx context.Context, kv pb.KVClient, prefix string, which database.Removable, removed func(int64)) error {
	first, end := span(prefix)
	for sum := int64(0); ; {
		found, err := kv.Range(ctx, &pb.RangeRequest{Key: first, RangeEnd: end, Limit: cleanPage, KeysOnly: true})
		if err != nil {
			return answer.Classify(err, false)
		}
		if len(found.Kvs) == 0 {
			return nil
		}
		var deletes []*pb.RequestOp
		for _, held := range found.Kvs {
			if bytes.Compare(held.Key, first) < 0 {
				return fmt.Errorf("the server was asked for keys from %q on, and answered with the key %q", first, held.Key)
			}
			name, err := database.WithoutPrefix(prefix, string(held.Key))
			if err != nil {
				return err
			}
			if which.Has([]byte(name)) {
				deletes = append(deletes, &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: held.Key}}})
			}
			first = append(bytes.Clone(held.Key), 0) // a range still visits deleted keys in the index until a compaction
		}
		for batch := range slices.Chunk(deletes, cleanBatch) {
			done, err := kv.Txn(ctx, &pb.TxnRequest{Success: batch})
			if err != nil {
				return answer.Classify(err, true)
			}
			for _, r := range done.Responses {
				sum += r.GetResponseDeleteRange().GetDeleted()
			}
			removed(sum)
		}
	}
}

// cleanPage is the number of names that a request reads, and cleanBatch the number of keys that a
// transaction deletes: members accept 128 operations by default.
const (
	cleanPage  = 1000
	cleanBatch = 100
)
