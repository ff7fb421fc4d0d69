package watch

import (
	"runtime"
	"testing"
	"weak"
)

// What all have heard of is not kept: neither by the newest version of a key that nobody writes any
// more, nor by a watcher that has ended.
func TestForgotten(t *testing.T) {
	s := newSequence()
	for id := range int32(2) {
		s.establish(s.join(id, false), 0, 1)
	}
	add := func(version, key int64) *entry {
		e := &entry{version: version, key: key}
		s.insert(e)
		s.chain(e)
		return e
	}
	open := add(1, 1)
	var gone []weak.Pointer[entry]
	for version := int64(2); version < 10; version++ {
		next := add(version, 2) // before all have heard of the one before
		for _, w := range s.watchers {
			if !w.broken {
				s.resolve(open, w.place, 1)
				w.version, w.cursor = open.version, open
			}
		}
		if s.close(open); version == 3 {
			s.lose(s.watchers[1])
		}
		gone, open = append(gone, weak.Make(next)), next
	}
	runtime.GC()
	for i, e := range gone[:len(gone)-2] { // the last is open, and a watcher heard of the one before
		if e.Value() != nil {
			t.Errorf("version %d is kept", i+2)
		}
	}
	runtime.KeepAlive(s)
}
