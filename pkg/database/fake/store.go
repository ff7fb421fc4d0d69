package fake

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/database/fake/deliver"
	"github.com/coreos/dbtester/pkg/workload"
)

// store is the leader's map, and the file of writes from which it is restored. It is safe for
// concurrent use.
type store struct {
	mu   sync.Mutex
	keys map[string][]byte
	// versions maps a key to the number of writes to the store up to the last one to that key.
	versions map[string]int64
	applied  int64
	file     *os.File
	w        *bufio.Writer
	writes   int
	hub      *deliver.Hub // for watches, nil while the file is replayed
}

// openStore replays the file of writes. A write that was cut off is dropped: it was not answered.
func openStore(path string) (*store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("open the file of writes: %w", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, fmt.Errorf("open the file of writes: %w", err)
	}
	s := &store{keys: map[string][]byte{}, versions: map[string]int64{}, file: file, w: bufio.NewWriter(file)}
	if err := s.replay(); err != nil {
		return nil, errors.Join(fmt.Errorf("replay %q: %w", path, err), file.Close())
	}
	return s, nil
}

func (s *store) replay() error {
	r := bufio.NewReader(s.file)
	var whole int64
	for {
		kind, key, value, err := readFrame(r)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			if err := s.file.Truncate(whole); err != nil {
				return err
			}
			_, err := s.file.Seek(whole, io.SeekStart)
			return err
		case err != nil:
			return err
		}
		whole += int64(headerSize + len(key) + len(value))
		s.set(opcode(kind), key, value)
	}
}

// apply writes a request to the file, then to the map.
func (s *store) apply(op opcode, key, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := writeFrame(s.w, byte(op), key, value); err != nil {
		return err
	}
	s.set(op, key, value)
	return nil
}

// swap writes a key if it has the expected version, and returns the resulting
// version.
func (s *store) swap(key, value []byte, expected int64) (version int64, done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.versions[string(key)]; held != expected {
		return held, false, nil
	}
	if err := writeFrame(s.w, byte(opPut), key, value); err != nil {
		return 0, false, err
	}
	s.set(opPut, key, value)
	return s.versions[string(key)], true, nil
}

// version returns the version of a key, 0 if it does not exist.
func (s *store) version(key []byte) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions[string(key)]
}

func (s *store) set(op opcode, key, value []byte) {
	s.applied++
	if s.hub != nil {
		s.hub.Publish(deliver.Change{Key: bytes.Clone(key), Value: bytes.Clone(value), Version: s.applied}, time.Now())
	}
	if op == opDelete {
		delete(s.keys, string(key))
		delete(s.versions, string(key))
		return
	}
	s.versions[string(key)] = s.applied
	s.keys[string(key)] = bytes.Clone(value)
}

func (s *store) get(key []byte) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.keys[string(key)]
	return value, ok
}

// count returns the number of keys that begin with a prefix.
func (s *store) count(prefix string) int { return len(s.some(math.MaxInt, prefix, every)) }

// every accepts all keys.
func every([]byte) bool { return true }

// some returns at most most keys that begin with a prefix and whose rest is wanted.
func (s *store) some(most int, prefix string, wanted func([]byte) bool) (keys [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.keys {
		if len(keys) >= most {
			break
		}
		if rest, ok := strings.CutPrefix(key, prefix); ok && wanted([]byte(rest)) {
			keys = append(keys, []byte(key))
		}
	}
	return keys
}

// highest returns the highest number among keys of that size after a prefix, or -1.
func (s *store) highest(size int, prefix string) int64 {
	highest := int64(-1)
	for _, key := range s.some(math.MaxInt, prefix, every) {
		if n, ok := workload.KeyNumber(key[len(prefix):], size); ok {
			highest = max(highest, n)
		}
	}
	return highest
}

// next numbers the writes from 1.
func (s *store) next() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	return s.writes
}

func (s *store) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file.Close()
}
