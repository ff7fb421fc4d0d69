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
	"github.com/coreos/dbtester/pkg/workload"
)

// operations is implemented by the clients of all transports.
type operations interface {
	database.WholeKeys
	database.Ranger
	database.Lister
	database.Leaser
	// ListTo is List up to an exclusive end, and RangeTo Range.
	ListTo(ctx context.Context, how workload.RangeMode, key, end []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error)
	RangeTo(ctx context.Context, key, end []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error)
}

// below adds ranges to [database.Below], and sessions, which have no prefix.
type below struct {
	*database.Below
	database.Leaser
	on     operations
	prefix string
}

var (
	_ database.AppendGetter = (*joined)(nil)
	_ database.Ranger       = (*below)(nil)
	_ database.Leaser       = (*below)(nil)
	_ database.Resender     = (*below)(nil)
	_ database.Continuer    = (*below)(nil)
)

// within returns a client whose keys lie below the target's prefix, if it has one.
func within(t database.Target, on operations) database.Client {
	if t.Prefix == "" {
		return on
	}
	b := &below{database.NewBelow(t, on), on, on, t.KeyPrefix()}
	if client, ok := on.(joiner); ok {
		return &joined{b, client}
	}
	return b
}

// joiner is a client that accepts a key in two parts; other clients need it in one piece.
type joiner interface {
	put(ctx context.Context, before string, key, value []byte) error
	get(ctx context.Context, to []byte, before string, key []byte, mode workload.ReadMode) ([]byte, error)
}

// joined is below for a joiner, whose usual operations need no copy of the key.
type joined struct {
	*below
	on joiner
}

// Put creates or overwrites key.
func (j *joined) Put(ctx context.Context, key, value []byte) error {
	return j.on.put(ctx, j.before(key), key, value)
}

// Get returns the value of key.
func (j *joined) Get(ctx context.Context, key []byte, mode workload.ReadMode) ([]byte, error) {
	return j.on.get(ctx, nil, j.before(key), key, mode)
}

// AppendGet appends the value of key to a buffer.
func (j *joined) AppendGet(ctx context.Context, to, key []byte, mode workload.ReadMode) ([]byte, error) {
	return j.on.get(ctx, to, j.before(key), key, mode)
}

// before returns the prefix of a key's stored name. The empty key stays empty, so the database
// refuses it.
func (j *joined) before(key []byte) string {
	if len(key) == 0 {
		return ""
	}
	return j.prefix
}

// Range reads up to limit keys with their values, all of them below the prefix.
func (b *below) Range(ctx context.Context, key []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	return b.on.RangeTo(ctx, append([]byte(b.prefix), key...), []byte(behind(b.prefix)), limit, mode)
}

// Resent implements [database.Resender] with the client that applies the operations.
func (b *below) Resent() int64 { return database.Resent(b.on) }

// span returns the first key and the end of all keys that begin with a prefix, which
// does not end with the largest byte. The empty prefix means all keys.
func span(prefix string) (first, end []byte) {
	if prefix == "" {
		return []byte(toEnd), []byte(toEnd)
	}
	return []byte(prefix), []byte(behind(prefix))
}

// behind returns the first key after all keys that begin with a prefix.
func behind(prefix string) string {
	last := len(prefix) - 1
	return prefix[:last] + string(prefix[last]+1)
}

// cleanPage is the number of names read in one request, and cleanBatch the number of keys
// deleted in one transaction: members accept 128 operations by default.
const (
	cleanPage  = 1000
	cleanBatch = 100
)

// Clean deletes keys below the prefix by their names, in transactions of at most cleanBatch
// keys. Any member may answer.
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
