// Package buffer lends memory to connections and fibers. A connection that has nothing to send and
// nothing half read holds no buffer, nor does a waiting fiber. Thus many idle ones take little memory,
// and busy ones find theirs in the processor caches.
package buffer

import (
	"math/bits"
	"sync"
)

// Buffer is memory that many users share in turn.
type Buffer struct {
	Bytes []byte // with length 0
	kind  int    // by size
}

// Buffer sizes, in bytes, are Smallest and its doublings.
const (
	Smallest = 512
	kinds    = 8
	Largest  = Smallest << (kinds - 1) // the largest that is lent again
)

// free are the unused buffers, by kind.
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

// GiveBack returns the memory for others. It must be called at most once, and may be called on nil.
func (b *Buffer) GiveBack() {
	if b != nil && b.kind < kinds {
		free[b.kind].Put(b)
	}
}
