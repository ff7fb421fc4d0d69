package agent

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

// clientFile keeps the last client count in a file, for programs that watch it.
type clientFile struct {
	mu   sync.Mutex // guards the file content
	path string     // "" keeps no file
	last int64
}

// set writes n if it changed. It refuses an existing file that is not regular: a pipe without a
// reader would block the verb.
func (f *clientFile) set(n int64) error {
	if f.path == "" {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == n {
		return nil
	}
	if info, err := os.Stat(f.path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", f.path)
	}
	f.last = n
	return os.WriteFile(f.path, strconv.AppendInt(nil, n, 10), 0o644)
}
