package etcd

import (
	"context"

	"github.com/coreos/dbtester/pkg/database"
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

// within returns a client whose keys lie below the target prefix, if it has one.
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

// before returns the prefix of a stored key. The empty key stays empty, so the database refuses it.
func (j *joined) before(key []byte) string {
	if len(key) == 0 {
		return ""
	}
	return j.prefix
}

// Range reads up to limit keys and their values, all below the prefix.
func (b *below) Range(ctx context.Context, key []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	return b.on.RangeTo(ctx, append([]byte(b.prefix), key...), []byte(behind(b.prefix)), limit, mode)
}

// Resent implements [database.Resender] with the client that applies the operations.
func (b *below) Resent() int64 { return database.Resent(b.on) }

// span returns the first key and the end of all keys that begin with a prefix, which must not end
// with the largest byte. The empty prefix means all keys.
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
