package agent

import (
	"os"
	"strconv"
	"sync"
)

// clientFile keeps the last number of clients in a file, for whoever watches it.
type clientFile struct {
	mu   sync.Mutex // guards the file's content
	path string     // "" for none
	last int64
}

// set writes the number if it changed.
func (f *clientFile) set(n int64) error {
	if f.path == "" {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == n {
		return nil
	}
	f.last = n
	return os.WriteFile(f.path, strconv.AppendInt(nil, n, 10), 0o644)
}

// setClients takes the number of clients that control says, for the sampler and
// the file.
func (s *session) setClients(n int64) {
	s.clients.Store(n)
	if err := s.agent.clientFile.set(n); err != nil {
		s.log.Warn("number of clients was not written", "error", err)
	}
}
