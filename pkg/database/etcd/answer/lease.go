package answer

import (
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/coreos/dbtester/pkg/database"
)

// Renewed returns the error of a renewal that was answered with a TTL in seconds. That of a lease
// that has ended is 0.
func Renewed(ttl int64) error {
	if ttl > 0 {
		return nil
	}
	return ended()
}

// WithoutLease makes [database.ErrNoSession] of a classed error that reports that there is no such
// lease.
func WithoutLease(err error) error {
	var classed *database.Error
	if errors.As(err, &classed) && errors.Is(rpctypes.Error(classed.Err), rpctypes.ErrLeaseNotFound) {
		return ended()
	}
	return err
}

// ended returns the error of a request about a lease that has ended.
func ended() error { return database.NotApplied(database.ClassNotFound, database.ErrNoSession) }
