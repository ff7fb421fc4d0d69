package database

import "context"

// Bulker is a driver whose servers take requests that write several keys. Keys before a
// load are written by them, which enters no figure.
type Bulker interface {
	// BulkSize returns how many keys of that size in bytes, with such values, one request
	// may have: at least 1.
	BulkSize(keySize, valueSize int) int
	// DialBulk opens a connection, as Dial does.
	DialBulk(ctx context.Context, t Target) (Bulk, error)
}

// Bulk writes several keys at once. One goroutine uses it.
type Bulk interface {
	// PutAll creates or overwrites keys, no two of which are equal. Of more than BulkSize it
	// may refuse all. It may be repeated after an error, which can have left some written.
	PutAll(ctx context.Context, pairs []Pair) error
	// Close releases the connection.
	Close() error
}

// Pair is a key with its value.
type Pair struct{ Key, Value []byte }
