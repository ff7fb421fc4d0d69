package fake

import (
	"bytes"
	"sync"
	"time"
)

// Lie is a deliberate error of a leader. Tests use it to prove that such errors are found.
type Lie string

// The lies.
const (
	Honest Lie = ""
	// Drop acknowledges a put that is not applied.
	Drop Lie = "drop"
	// Older returns the previous value, a step back for clients that read the last one already.
	// Stale does so for 5 ms after a write. Other returns the value of another key.
	Older Lie = "older"
	Stale Lie = "stale"
	Other Lie = "other"
	// Phantom applies a put that is refused.
	Phantom Lie = "phantom"
	// Undelete acknowledges a delete that is not applied.
	Undelete Lie = "undelete"
	// Double applies a transaction although the key has another version than it names.
	Double Lie = "double"
	// Late applies a put some time after answering it with an unknown outcome, which is
	// legal.
	Late Lie = "late"
)

// Lies returns all lies.
func Lies() []Lie { return []Lie{Drop, Older, Stale, Other, Phantom, Undelete, Double, Late} }

const (
	staleFor = 5 * time.Millisecond
	lateBy   = 2 * time.Millisecond
)

// liar counts the requests about which it may lie.
type liar struct {
	mu     sync.Mutex
	count  int
	before map[string]replaced // by key
	last   written
}

// replaced is a key's previous value, and the time at which it was replaced.
type replaced struct {
	value []byte
	at    time.Time
}

// written is a key with its value.
type written struct{ key, value []byte }

// now reports whether the lie applies to the next request that it concerns.
func (s *server) now(l Lie) bool {
	if s.Lie != l {
		return false
	}
	s.liar.mu.Lock()
	defer s.liar.mu.Unlock()
	s.liar.count++
	return s.liar.count%max(s.LieEvery, 1) == 0
}

// read returns the value of a key, its previous value, or the value of another key.
func (s *server) read(key []byte) ([]byte, bool) {
	if s.Lie == Older || s.Lie == Stale {
		s.liar.mu.Lock()
		was, known := s.liar.before[string(key)]
		s.liar.mu.Unlock()
		if known && (s.Lie == Older || time.Since(was.at) < staleFor) && s.now(s.Lie) {
			return was.value, true
		}
	}
	if s.Lie == Other {
		s.liar.mu.Lock()
		last := s.liar.last
		s.liar.mu.Unlock()
		if last.key != nil && !bytes.Equal(last.key, key) && s.now(Other) {
			return last.value, true
		}
	}
	return s.store.get(key)
}

// swap writes a key if it has the expected version, or as a lie although it has another one.
func (s *server) swap(key, value []byte, expected int64) (version int64, done bool, err error) {
	version, done, err = s.store.swap(key, value, expected)
	if err == nil && !done && s.now(Double) {
		return s.store.swap(key, value, version)
	}
	return version, done, err
}

// lie answers a write with a lie, if one is due.
func (s *server) lie(op opcode, key, value []byte) (answered code, data []byte, lied bool) {
	switch {
	case op == opPut && (s.Lie == Older || s.Lie == Stale):
		if old, known := s.store.get(key); known {
			s.liar.mu.Lock()
			s.liar.before[string(key)] = replaced{bytes.Clone(old), time.Now()}
			s.liar.mu.Unlock()
		}
	case op == opPut && s.Lie == Other:
		s.liar.mu.Lock()
		s.liar.last = written{bytes.Clone(key), bytes.Clone(value)}
		s.liar.mu.Unlock()
	case op == opPut && s.now(Drop), op == opDelete && s.now(Undelete):
		return codeOK, nil, true
	case op == opPut && s.now(Phantom):
		if err := s.store.apply(op, key, value); err != nil {
			return codeUnknown, []byte("the write could not be appended to the file"), true
		}
		return codeRefused, []byte("the option lie refuses this write"), true
	case op == opPut && s.now(Late):
		key, value := bytes.Clone(key), bytes.Clone(value)
		time.AfterFunc(lateBy, func() { _ = s.store.apply(opPut, key, value) }) // its outcome is unknown in any case
		return codeUnknown, []byte("the option lie applies this write later"), true
	}
	return 0, nil, false
}
