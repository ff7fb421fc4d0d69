package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/fileinspect"
)

// workDirs are the names of the directories in which local agents work.
const workDirs = ".work-*"

// holdDir locks a directory for as long as the returned file is open, at most as
// long as this process lives.
func holdDir(path string) (io.Closer, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	// Whoever only looks whether it is held has it for a moment.
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// leftovers are the work directories in a folder that nobody holds: those of
// programs that were killed.
func leftovers(folder string) []string {
	found, err := filepath.Glob(filepath.Join(folder, workDirs))
	if err != nil {
		return nil // a folder whose name is a pattern
	}
	return slices.DeleteFunc(found, func(path string) bool {
		dir, err := os.Open(path)
		if err != nil {
			return true // it has just been removed
		}
		defer dir.Close()
		return unix.Flock(int(dir.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
	})
}

// leftBehind says what is in a work directory that nobody removes.
func leftBehind(dir string) string {
	size := "data"
	if s, err := fileinspect.Size(dir); err == nil {
		size = humanize.Bytes(uint64(s.Allocated))
	}
	return fmt.Sprintf("left behind: %s (%s): the members' data, logs and samples of a run that was killed; remove it when nobody needs them", relative(dir), size)
}

// lastWords are what a program says that ends at once: where the records are that
// it leaves.
type lastWords struct {
	mu      sync.Mutex
	folders []string
	workDir string // "" while there is none
}

// folder remembers a result folder.
func (l *lastWords) folder(dir string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.folders = append(l.folders, dir)
}

// works remembers the work directory of local agents; "" forgets it.
func (l *lastWords) works(dir string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.workDir = dir
}

// say says what is remembered.
func (l *lastWords) say(out, errw io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, dir := range l.folders {
		fmt.Fprintf(out, "results in %s\n", relative(dir))
	}
	if l.workDir != "" {
		fmt.Fprintf(errw, "dbtester: %s\n", leftBehind(l.workDir))
	}
}
