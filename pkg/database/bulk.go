package database

import "context"

// Bulker is a driver whose servers accept requests that write several keys. Such requests
// write the keys that exist before a load; no figure includes them.
type Bulker interface {
	// BulkSize returns the maximum number of keys in one request, at least 1. Sizes are in bytes.
	BulkSize(keySize, valueSize int) int
	// DialBulk opens a connection, as Dial does.
	DialBulk(ctx context.Context, t Target) (Bulk, error)
}

// Bulk writes several keys at once. One goroutine uses it.
type Bulk interface {
	// PutAll creates or overwrites distinct keys. It may refuse more than BulkSize keys. After
	// an error some keys may be written, and the call may be repeated.
	PutAll(ctx context.Context, pairs []Pair) error
	// Close releases the connection.
	Close() error
}

// Pair is a key and its value.
type Pair struct{ Key, Value []byte }
