package database

import (
	"context"
	"fmt"
	"strings"

	"github.com/coreos/dbtester/pkg/workload"
)

// Removable says which of the keys below a prefix are removed: all of them, or those of a
// load by their numbers.
type Removable struct {
	All     bool
	Numbers workload.KeySpans
}

// Has reports whether a key is removed. The key has no prefix.
func (r Removable) Has(key []byte) bool { return r.All || r.Numbers.Has(key) }

// Cleaner is a driver that removes the keys below a prefix.
type Cleaner interface {
	// Clean removes those of the keys below t.Prefix, and what the driver made for them, in
	// bounded batches. All other keys stay. It calls removed after each with the number of keys that were
	// removed so far. Without a prefix it removes nothing and returns an error. It may be
	// repeated, also after an end of ctx between two batches. Keys that others write below
	// the prefix meanwhile may remain.
	Clean(ctx context.Context, t Target, which Removable, removed func(keys int64)) error
}

// FillReporter is a driver whose members report how large their store is and may become. A store
// at its limit refuses writes.
type FillReporter interface {
	// Fill returns the size and the limit, in bytes, of the member whose store is fullest.
	// It asks all members and ignores those that do not answer, unless none does.
	Fill(ctx context.Context, t Target) (size, limit int64, err error)
}

// KeyPrefix is what the stored name of every key begins with: the prefix and "/", or
// nothing.
func (t Target) KeyPrefix() string {
	if t.Prefix == "" {
		return ""
	}
	return t.Prefix + "/"
}

// WithoutPrefix returns what a stored name has after the prefix that it was asked for with.
// A server that answers with another name, as a proxy that changes or caches answers may,
// is an error.
func WithoutPrefix(prefix, name string) (string, error) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return "", fmt.Errorf("the server was asked for keys that begin with %q, and answered with the key %q", prefix, name)
	}
	return rest, nil
}
