package database

import (
	"context"

	"github.com/coreos/dbtester/pkg/workload"
)

// Deleter is optional on a [Client], as are [Ranger] and [Swapper]. The conformance
// suite proves that they agree with Info.Operations.
type Deleter interface {
	// Delete removes key; a missing key is not an error.
	Delete(ctx context.Context, key []byte) error
}

// Ranger reads several neighbouring keys at once.
type Ranger interface {
	// Range reads keys with their values, at most limit, from key on in the
	// database's order. It returns how many keys there were, and the bytes of all
	// their values together.
	Range(ctx context.Context, key []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error)
}

// Swapper replaces a value only if it is still the expected one.
type Swapper interface {
	// Swap sets key to value if it holds old; otherwise the error's class is
	// [ClassConflict].
	Swap(ctx context.Context, key, old, value []byte) error
}

// supports reports whether a client can apply an operation: by the methods of
// [Client], or by a method of its own.
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
	}
	return ok
}

// OperationsOf returns the operations that all of clients can apply. A driver
// gives one client of each transport, which may be a nil pointer: only types are
// looked at.
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
