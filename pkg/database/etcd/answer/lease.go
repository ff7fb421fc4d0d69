package answer

import (
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/coreos/dbtester/pkg/database"
)

// Renewed returns the error for a renewal answered with a TTL in seconds; 0 means that the lease
// has ended.
func Renewed(ttl int64) error {
	if ttl > 0 {
		return nil
	}
	return ended()
}

// WithoutLease turns a classed error that reports that the lease does not exist into
// [database.ErrNoSession].
func WithoutLease(err error) error {
	var classed *database.Error
	if errors.As(err, &classed) && errors.Is(rpctypes.Error(classed.Err), rpctypes.ErrLeaseNotFound) {
		return ended()
	}
	return err
}

// ended returns the error for a request about an ended lease.
func ended() error { return database.NotApplied(database.ClassNotFound, database.ErrNoSession) }
