package sysmetrics

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// bufferBytes is the initial buffer size, large enough for most files in proc.
const bufferBytes = 8 << 10

// files reads small files below the proc mount, reusing one buffer: each sample reads hundreds. It
// is not safe for concurrent use.
type files struct {
	root string
	buf  []byte
}

// read returns the file content, which is valid until the next read. It makes the system calls
// itself, because package os would first register each file with the poller.
func (f *files) read(elem ...string) ([]byte, error) { return f.readPath(f.path(elem...)) }

// readPath reads like read. The path need not be below the proc mount.
func (f *files) readPath(path string) ([]byte, error) {
	fd, err := openPath(path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if len(f.buf) == 0 {
		f.buf = make([]byte, bufferBytes)
	}
	n := 0
	for {
		got, err := readOnce(fd, path, f.buf[n:])
		if err != nil {
			return nil, err
		}
		if got == 0 {
			return f.buf[:n], nil
		}
		if n += got; n == len(f.buf) {
			f.buf = append(f.buf, make([]byte, len(f.buf))...)
		}
	}
}

// lines calls each for every line in a file, however long, without holding the whole file. It
// returns the first error from each, or an error if a line is longer than the buffer.
func (f *files) lines(each func(line []byte) error, elem ...string) error {
	path := f.path(elem...)
	fd, err := openPath(path)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if len(f.buf) == 0 {
		f.buf = make([]byte, bufferBytes)
	}
	kept := 0 // bytes in an incomplete line
	for {
		got, err := readOnce(fd, path, f.buf[kept:])
		if err != nil {
			return err
		}
		rest := f.buf[:kept+got]
		for {
			line, after, whole := bytes.Cut(rest, []byte{'\n'})
			if !whole && got > 0 {
				break
			}
			if len(line) > 0 {
				if err := each(line); err != nil {
					return err
				}
			}
			if rest = after; !whole {
				return nil
			}
		}
		if kept = copy(f.buf, rest); kept == len(f.buf) {
			return fmt.Errorf("read %s: a line must be shorter than %d bytes", path, len(f.buf))
		}
	}
}

// openPath opens a file without package os.
func openPath(path string) (fd int, err error) {
	if fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return 0, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

// readOnce reads the available bytes; 0 bytes at the end.
func readOnce(fd int, path string, into []byte) (int, error) {
	for {
		n, err := unix.Read(fd, into)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, &fs.PathError{Op: "read", Path: path, Err: err}
		default:
			return n, nil
		}
	}
}

// numbers lists the numeric entries in a directory: processes or threads.
func (f *files) numbers(elem ...string) ([]int, error) {
	dir, err := os.Open(f.path(elem...))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	numbers := make([]int, 0, len(names))
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

func (f *files) path(elem ...string) string {
	return filepath.Join(f.root, filepath.Join(elem...))
}

// gone reports whether an error means that the process or thread has ended.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
}
