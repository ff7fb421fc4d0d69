package database

import (
	"context"
	"errors"
	"slices"

	"github.com/coreos/dbtester/pkg/workload"
)

// Deleter is optional on a [Client], as are [Ranger], [Swapper], [Transactor] and
// [Leaser]. The conformance suite proves that they agree with Info.Operations.
type Deleter interface {
	// Delete removes key; a missing key is not an error.
	Delete(ctx context.Context, key []byte) error
}

// AppendGetter is optional on a [Client] that can read into the caller's memory, so that a load
// leaves no garbage for each read.
type AppendGetter interface {
	// AppendGet appends the value that Get would return to a buffer, and returns the extended
	// buffer, as append does. After an error it returns the buffer as it was; memory behind its end
	// may have changed. The client keeps no part of the buffer, whatever it returns. As many calls
	// may run at the same time as calls to Get, each with its own buffer.
	AppendGet(ctx context.Context, to, key []byte, mode workload.ReadMode) ([]byte, error)
}

// Ranger reads several neighbouring keys at once.
type Ranger interface {
	// Range reads at most limit keys and their values, from key on in database order. It returns
	// the number of keys, and the total size of their values in bytes.
	Range(ctx context.Context, key []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error)
}

// Lister is optional on a [Ranger] whose ranges have more modes than [workload.RangeValues]:
// those of Info.Lists.
type Lister interface {
	// List reads keys in such a mode, from key on in database order. A mode without a limit ignores
	// it. List returns the number of keys it read, and the total size of their values in bytes. The
	// error wraps [ErrNoRangeMode] if the server lacks the mode.
	List(ctx context.Context, how workload.RangeMode, key []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error)
}

// ErrNoRangeMode is wrapped by the error from List if the server, such as an older release or a
// proxy, lacks the range mode.
var ErrNoRangeMode = errors.New("the server has no ranges of this mode")

// Swapper replaces a value only if it is still the expected one.
type Swapper interface {
	// Swap sets key to value if key holds old; otherwise the error class is [ClassConflict].
	Swap(ctx context.Context, key, old, value []byte) error
}

// ErrNoTransactions is wrapped by the error from Txn if the server, such as a proxy, has no
// transactions.
var ErrNoTransactions = errors.New("the server has no transactions")

// Transactor writes keys in one transaction if they have the versions the caller expects.
//
// A version changes with every write to its key; the number is the database's own: the mod revision
// in etcd, the data version plus one in ZooKeeper, the modify index in Consul.
type Transactor interface {
	// Txn makes all puts or no put, in one round trip. The keys differ. If a key has another
	// version than expected, the error class is [ClassConflict]. Txn replaces the versions in puts:
	// by the new ones after success, by the current ones after a conflict, or by [UnknownVersion]
	// where the answer lacks them. After other errors the versions are unchanged.
	Txn(ctx context.Context, puts []GuardedPut) error
	// Version returns the version of key, [NoVersion] if it does not exist. It misses no write
	// answered before the call.
	Version(ctx context.Context, key []byte) (int64, error)
}

// ManyVersions is optional on a [Transactor] whose servers return the versions of many keys in few
// round trips.
type ManyVersions interface {
	// Versions sets versions[i] to the version of keys[i], as Version returns it. The keys ascend
	// in byte order and are as many as the versions. It is fast if the keys have equal lengths and
	// differ only in their last few bytes, as consecutive numbers do. After an error the versions
	// have no meaning.
	Versions(ctx context.Context, keys [][]byte, versions []int64) error
}

// GuardedPut is one key in a transaction, its new value, and the version it must have; [NoVersion]
// means that the key must not exist.
type GuardedPut struct {
	Key, Value []byte
	Version    int64
}

// Versions that no existing key has.
const (
	NoVersion      = 0
	UnknownVersion = -1
)

// TxnLimiter is a driver whose members accept transactions of several keys.
type TxnLimiter interface {
	// MaxTxnValue returns the largest value in bytes for each key in a transaction of that many
	// keys, each keySize bytes long. Every member surely accepts it. It is 0 if no value fits or
	// there are too many keys.
	MaxTxnValue(keySize, keys int) int
}

// supports reports whether a client can apply an operation, with a method of [Client] or an
// optional one.
func supports(c Client, op workload.Op) (ok bool) {
	switch op {
	case workload.OpWrite, workload.OpUpdate, workload.OpRead, workload.OpReadOneshot:
		ok = true
	case workload.OpDelete:
		_, ok = c.(Deleter)
	case workload.OpRange:
		_, ok = c.(Ranger)
	case workload.OpSwap:
		_, ok = c.(Swapper)
	case workload.OpTxn, workload.OpCreate:
		_, ok = c.(Transactor)
	case workload.OpGrant, workload.OpKeepAlive, workload.OpRevoke:
		_, ok = c.(Leaser)
	}
	return ok
}

// WithLocks returns the operations clients and a [LockDialer]'s contenders apply.
func WithLocks(ops []workload.Op) []workload.Op { return append(slices.Clone(ops), workload.OpLock) }

// OperationsOf returns the operations that all clients can apply. A driver passes one
// client for each transport, which may be a nil pointer, because only types matter.
func OperationsOf(clients ...Client) []workload.Op {
	var ops []workload.Op
next:
	for _, op := range workload.Ops() {
		for _, c := range clients {
			if !supports(c, op) {
				continue next
			}
		}
		ops = append(ops, op)
	}
	return ops
}
