package database

import (
	"context"
	"fmt"
	"strings"

	"github.com/coreos/dbtester/pkg/workload"
)

// Removable selects which keys below a prefix to remove: all except [ClaimKey], or load keys by
// their numbers.
type Removable struct {
	All     bool
	Numbers workload.KeySpans
}

// Has reports whether a key, given without its prefix, is removed.
func (r Removable) Has(key []byte) bool {
	return r.All && string(key) != ClaimKey || r.Numbers.Has(key)
}

// Cleaner is a driver that removes the keys below a prefix.
type Cleaner interface {
	// Clean removes the selected keys below t.Prefix, and anything that the driver created
	// for them, in bounded batches. All other keys stay. After each batch it passes the number of
	// keys removed so far to removed. Without a prefix it removes nothing and returns an error. It
	// may be repeated, also after ctx ended between two batches. Keys that others write below the
	// prefix meanwhile may remain.
	Clean(ctx context.Context, t Target, which Removable, removed func(keys int64)) error
}

// FillReporter is a driver whose members report the size of their store and its limit. A store at
// its limit refuses writes.
type FillReporter interface {
	// Fill returns the size and limit of the fullest store, in bytes. It asks all members and
	// ignores those that do not answer, unless no member answers.
	Fill(ctx context.Context, t Target) (size, limit int64, err error)
}

// KeyPrefix returns the beginning of every stored key: the prefix and "/", or nothing.
func (t Target) KeyPrefix() string {
	if t.Prefix == "" {
		return ""
	}
	return t.Prefix + "/"
}

// WithoutPrefix returns a stored name without the requested prefix. A name with another prefix is
// an error: a proxy that changes or caches answers may return one.
func WithoutPrefix(prefix, name string) (string, error) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return "", fmt.Errorf("the server was asked for keys that begin with %q, and answered with the key %q", prefix, name)
	}
	return rest, nil
}
