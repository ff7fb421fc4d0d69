package fake

import (
	"bytes"
	"time"
)

const (
	staleFor = 5 * time.Millisecond
	lateBy   = 2 * time.Millisecond
)

// now reports whether the lie applies to the next request it concerns.
func (s *server) now(l Lie) bool {
	if s.Lie != l {
		return false
	}
	s.liar.mu.Lock()
	defer s.liar.mu.Unlock()
	s.liar.count++
	return s.liar.count%max(s.LieEvery, 1) == 0
}

// read returns the value of a key, its previous value, or that of another key.
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
