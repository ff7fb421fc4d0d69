package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	humanize "github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/machine/diskcheck"
	"github.com/coreos/dbtester/pkg/process/fileinspect"
)

// lastWords holds the paths that an immediate exit prints: result folders, and the remaining work
// directory. It also holds the file that such an exit removes.
type lastWords struct {
	mu      sync.Mutex
	folders []string
	workDir string // "" if there is no directory
	file    string // to be removed; "" if there is no file
	aside   bool   // standard output has only a result
}

// beside makes print write only to standard error.
func (l *lastWords) beside() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.aside = true
}

// folder records a result folder.
func (l *lastWords) folder(dir string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.folders = append(l.folders, dir)
}

// works records the work directory of local agents; "" forgets it.
func (l *lastWords) works(dir string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.workDir = dir
}

// temporary records a file to remove; "" forgets the file.
func (l *lastWords) temporary(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file = path
}

// print writes the result folders to out and the work directory to errw, and removes the
// temporary file.
func (l *lastWords) print(out, errw io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.aside {
		out = errw
	}
	for _, dir := range l.folders {
		fmt.Fprintf(out, "results in %s\n", relative(dir))
	}
	if l.workDir != "" {
		fmt.Fprintf(errw, "dbtester: %s\n", leftBehind(l.workDir))
		if n := len(l.folders); n > 0 {
			fmt.Fprintf(errw, "dbtester: its records are fetched by: dbtester control --collect %s\n", plaintext.Word(relative(l.folders[n-1])))
		}
	}
	if l.file == "" {
		return
	}
	if err := diskcheck.RemoveWithin(l.file, removeLimit); err != nil {
		fmt.Fprintf(errw, "dbtester: left behind: %s: %v\n", l.file, err)
	}
}

// leftBehind describes an abandoned work directory.
func leftBehind(dir string) string {
	size := "data"
	if s, err := fileinspect.Size(dir); err == nil {
		size = humanize.Bytes(uint64(s.Allocated))
	}
	return fmt.Sprintf("left behind: %s (%s): members' data, logs and samples of a killed run; dbtester control --collect RUN fetches its records; remove it when no longer needed", relative(dir), size)
}

// removeLimit bounds how long an immediate exit waits until the file is removed.
const removeLimit = time.Second

// relative returns path relative to the current directory if it is below it.
func relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
