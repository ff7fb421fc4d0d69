package agent

import (
	"os"
	"strconv"
	"sync"
)

// clientFile keeps the last number of clients in a file, for programs that watch it.
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
