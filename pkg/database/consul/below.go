package consul

import (
	"context"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// operations are those of the clients of both transports.
type operations interface {
	database.Client
	database.Deleter
	database.Swapper
	database.Transactor
}

// below applies operations to the keys below a prefix. Every operation is written out:
// one that is missing here does not reach keys outside.
type below struct {
	on     operations
	prefix string
}

var (
	_ database.Client     = (*below)(nil)
	_ database.Deleter    = (*below)(nil)
	_ database.Swapper    = (*below)(nil)
	_ database.Transactor = (*below)(nil)
)

// within returns a client whose keys lie below the target's prefix, if it has one.
func within(t database.Target, on operations) database.Client {
	if t.Prefix == "" {
		return on
	}
	return &below{on: on, prefix: t.KeyPrefix()}
}

// key returns the whole name of a key. The empty key, which Consul can't store, stays
// empty.
func (b *below) key(key []byte) []byte {
	if len(key) == 0 {
		return nil
	}
	return append(append(make([]byte, 0, len(b.prefix)+len(key)), b.prefix...), key...)
}

// Put creates or overwrites key.
func (b *below) Put(ctx context.Context, key, value []byte) error {
	return b.on.Put(ctx, b.key(key), value)
}

// Get returns the value of key.
func (b *below) Get(ctx context.Context, key []byte, mode workload.ReadMode) ([]byte, error) {
	return b.on.Get(ctx, b.key(key), mode)
}

// Delete removes key.
func (b *below) Delete(ctx context.Context, key []byte) error { return b.on.Delete(ctx, b.key(key)) }

// Swap sets key to value if it holds old.
func (b *below) Swap(ctx context.Context, key, old, value []byte) error {
	return b.on.Swap(ctx, b.key(key), old, value)
}

// Txn makes all puts if the keys have the versions that are expected.
func (b *below) Txn(ctx context.Context, puts []database.GuardedPut) error {
	return database.TxnOf(ctx, b.on, b.key, puts)
}

// Version returns the version of key.
func (b *below) Version(ctx context.Context, key []byte) (int64, error) {
	return b.on.Version(ctx, b.key(key))
}

// Close closes the connection.
func (b *below) Close() error { return b.on.Close() }
