package dbtester

import (
	"context"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// LoadRequest is one request in a load.
type LoadRequest struct {
	// Operation is [workload.OpRead] for reads, else [workload.OpWrite].
	Operation workload.Op
	// Key belongs to the engine, and so does Value in a write: both are valid only during the call.
	// A read sets Value to the value that it found.
	Key, Value []byte
	// Read is the read mode for reads.
	Read workload.ReadMode
}

// ReqHandler applies one request to the caller's own database. It is the smallest
// [database.Client] for the load engine: one function, which clients that share it call
// concurrently. [database.NotApplied] and [database.MaybeApplied] classify its errors; any
// other error counts as a request that may have been applied.
type ReqHandler func(ctx context.Context, req *LoadRequest) error

var _ database.Client = ReqHandler(nil)

// Put calls the handler with a write.
func (h ReqHandler) Put(ctx context.Context, key, value []byte) error {
	return h(ctx, &LoadRequest{Operation: workload.OpWrite, Key: key, Value: value})
}

// Get calls the handler with a read.
func (h ReqHandler) Get(ctx context.Context, key []byte, mode workload.ReadMode) ([]byte, error) {
	req := &LoadRequest{Operation: workload.OpRead, Key: key, Read: mode}
	err := h(ctx, req)
	return req.Value, err
}

// Close does nothing.
func (h ReqHandler) Close() error { return nil }
