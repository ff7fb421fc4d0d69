// Package regularfile opens inputs that are regular files. Devices and FIFOs have no end, and
// opening a FIFO may block for ever.
package regularfile

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Open opens a regular file for reading, following symbolic links. The caller closes it.
func Open(path string) (*os.File, error) {
	// Without O_NONBLOCK a FIFO waits for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("must be a regular file, got %s", kindOf(info.Mode()))}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Read returns the contents of a regular file with at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("must be at most %d bytes", limit)}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// Only returns an error if dir is not a folder, or if anything below it is neither a folder nor a
// regular file: data written there would go elsewhere.
func Only(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == dir && !d.IsDir():
			return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("must be a folder, got %s", kindOf(d.Type()))}
		case !d.IsDir() && !d.Type().IsRegular():
			return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("must be a regular file, got %s", kindOf(d.Type()))}
		}
		return nil
	})
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsRegular():
		return "a regular file"
	default:
		return mode.Type().String()
	}
}
