package database

import (
	"context"
	"slices"
	"sync"

	"github.com/coreos/dbtester/pkg/workload"
)

// WholeKeys is a client that takes keys as they are stored.
type WholeKeys interface {
	Client
	Deleter
	Swapper
	Transactor
	ManyVersions
}

// Below applies the operations of another client to the keys below a prefix. Every operation is
// written out, so one that is missing here cannot reach keys outside.
type Below struct {
	on     WholeKeys
	prefix string
}

// storedName is a key as the database stores it.
type storedName struct{ bytes []byte }

var (
	_ Client       = (*Below)(nil)
	_ Deleter      = (*Below)(nil)
	_ Swapper      = (*Below)(nil)
	_ Transactor   = (*Below)(nil)
	_ ManyVersions = (*Below)(nil)
	_ Continuer    = (*Below)(nil)
)

// NewBelow returns a client for the keys below the target prefix.
func NewBelow(t Target, on WholeKeys) *Below { return &Below{on: on, prefix: t.KeyPrefix()} }

// key returns the stored name of a key. The empty key stays empty, so the database refuses it.
func (b *Below) key(key []byte) []byte {
	if len(key) == 0 {
		return nil
	}
	return append(append(make([]byte, 0, len(b.prefix)+len(key)), b.prefix...), key...)
}

// name returns the stored name of key, in memory from an earlier call. The caller must return it
// with giveBack.
func (b *Below) name(key []byte) *storedName {
	n := names.Get().(*storedName)
	n.bytes = n.bytes[:0]
	if len(key) > 0 {
		n.bytes = append(append(n.bytes, b.prefix...), key...)
	}
	return n
}

// names pools used names for later calls by any client.
var names = sync.Pool{New: func() any { return new(storedName) }}

// giveBack keeps a name's memory for a later call, unless the client may still use it: see
// [Client].
func (n *storedName) giveBack(err error) {
	if err == nil {
		names.Put(n)
	}
}

// Put creates or overwrites key.
func (b *Below) Put(ctx context.Context, key, value []byte) error {
	n := b.name(key)
	err := b.on.Put(ctx, n.bytes, value)
	n.giveBack(err)
	return err
}

// Get returns the value of key.
func (b *Below) Get(ctx context.Context, key []byte, mode workload.ReadMode) ([]byte, error) {
	n := b.name(key)
	value, err := b.on.Get(ctx, n.bytes, mode)
	n.giveBack(err)
	return value, err
}

// Delete removes key.
func (b *Below) Delete(ctx context.Context, key []byte) error { return b.on.Delete(ctx, b.key(key)) }

// Swap sets key to value if it holds old.
func (b *Below) Swap(ctx context.Context, key, old, value []byte) error {
	return b.on.Swap(ctx, b.key(key), old, value)
}

// Txn makes all puts if the keys have the expected versions.
func (b *Below) Txn(ctx context.Context, puts []GuardedPut) error {
	own := slices.Clone(puts)
	for i := range own {
		own[i].Key = b.key(own[i].Key)
	}
	err := b.on.Txn(ctx, own)
	for i := range own {
		puts[i].Version = own[i].Version
	}
	return err
}

// Version returns the version of key.
func (b *Below) Version(ctx context.Context, key []byte) (int64, error) {
	return b.on.Version(ctx, b.key(key))
}

// Versions reads key versions.
func (b *Below) Versions(ctx context.Context, keys [][]byte, versions []int64) error {
	own := make([][]byte, len(keys))
	for i := range keys {
		own[i] = b.key(keys[i])
	}
	return b.on.Versions(ctx, own, versions)
}

// Continues implements [Continuer] with the client that applies the operations.
func (b *Below) Continues() bool { return Continues(b.on) }

// Close closes the connection.
func (b *Below) Close() error { return b.on.Close() }
