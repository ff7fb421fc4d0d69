package issue

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/coreos/dbtester/pkg/results"
)

// write appends whole lines, unless an earlier write failed.
func (f *samplesFile) write(dir string, index int, lines []byte) {
	if dir != "" && len(lines) > 0 && f.err == nil {
		f.err = f.append(dir, index, lines)
	}
}

// append appends whole lines. Each step in a generator begins with the header.
func (f *samplesFile) append(dir string, index int, lines []byte) error {
	if f.file == nil {
		path := filepath.Join(Folder(dir, index), results.FileClient)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		var err error
		if f.file, err = os.Create(path); err != nil {
			return err
		}
		f.header = bytes.Clone(lines[:bytes.IndexByte(lines, '\n')+1])
	} else {
		lines = bytes.TrimPrefix(lines, f.header)
	}
	_, err := f.file.Write(lines)
	return err
}

func (f *samplesFile) close() error {
	if f.file == nil {
		return nil
	}
	defer func() { f.file = nil }()
	if err := f.file.Close(); err != nil {
		return fmt.Errorf("write samples on control's machine: %w", err)
	}
	return nil
}

// samplesFile holds samples from the machine of a generator, as the generator sends them. Errors
// here come from control's machine: the generator is not lost, and the file keeps its earlier
// samples.
type samplesFile struct {
	file   *os.File // nil before the first
	header []byte   // its first line
	err    error    // why the rest is missing
}

// Folder returns the folder for files from generator index, below the tag folder dir.
func Folder(dir string, index int) string {
	return filepath.Join(dir, results.DirGenerators, strconv.Itoa(index+1))
}
