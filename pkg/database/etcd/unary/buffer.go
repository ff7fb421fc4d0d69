package unary

import (
	"math/bits"
	"sync"
)

// buffer is memory that connections lend each other: one with nothing to send and nothing
// half read holds none. So many connections that are idle take little memory, and busy ones
// find theirs in the processor's caches.
type buffer struct {
	bytes []byte // empty
	kind  int    // of its size
}

// The sizes of buffers, in bytes, are smallestBuffer and its doubles.
const (
	smallestBuffer = 2 << 10
	bufferKinds    = 6
	largestBuffer  = smallestBuffer << (bufferKinds - 1) // that is lent; a larger one is made for its batch
)

// buffers are those that no connection needs now, by kind.
var buffers [bufferKinds]sync.Pool

// borrow returns a buffer for at least n bytes.
func borrow(n int) *buffer {
	kind := bits.Len(uint(max(n-1, 0)) / smallestBuffer)
	if kind < bufferKinds {
		if b, ok := buffers[kind].Get().(*buffer); ok {
			return b
		}
	}
	return &buffer{bytes: make([]byte, 0, smallestBuffer<<kind), kind: kind}
}

// giveBack lets others use the memory. It may be called on nil.
func (b *buffer) giveBack() {
	if b != nil && b.kind < bufferKinds {
		buffers[b.kind].Put(b)
	}
}
