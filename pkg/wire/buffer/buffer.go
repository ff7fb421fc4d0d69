// Package buffer lends memory to connections and fibers. A connection that has nothing to send and
// nothing half read holds none, nor does a fiber that waits: so many idle ones take little memory,
// and busy ones find theirs in the processor's caches.
package buffer

import (
	"math/bits"
	"sync"
)

// Buffer is memory that many use in turn.
type Buffer struct {
	Bytes []byte // of length 0
	kind  int    // of its size
}

// The sizes of buffers, in bytes, are Smallest and its doubles.
const (
	Smallest = 512
	kinds    = 8
	Largest  = Smallest << (kinds - 1) // that is lent again
)

// free are the buffers that nobody needs now, by kind.
var free [kinds]sync.Pool

// Borrow returns a buffer with room for at least n bytes. It is safe for concurrent use.
func Borrow(n int) *Buffer {
	kind := bits.Len(uint(max(n-1, 0)) / Smallest)
	if kind >= kinds {
		return &Buffer{Bytes: make([]byte, 0, n), kind: kind}
	}
	if b, ok := free[kind].Get().(*Buffer); ok {
		return b
	}
	return &Buffer{Bytes: make([]byte, 0, Smallest<<kind), kind: kind}
}

// GiveBack lends the memory to others. It may be called on nil, and once.
func (b *Buffer) GiveBack() {
	if b != nil && b.kind < kinds {
		free[b.kind].Put(b)
	}
}
