package sysmetrics

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// files reads small files below the mount of proc, reusing one buffer: hundreds
// are read for each sample. It is not safe for concurrent use.
type files struct {
	root string
	buf  []byte
}

// read returns a file's content, which is good until the next read. It uses the
// system calls themselves, because package os would offer each file to the
// poller first.
func (f *files) read(elem ...string) ([]byte, error) {
	path := f.path(elem...)
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	if len(f.buf) == 0 {
		f.buf = make([]byte, 8<<10)
	}
	n := 0
	for {
		got, err := unix.Read(fd, f.buf[n:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if got == 0 {
			return f.buf[:n], nil
		}
		if n += got; n == len(f.buf) {
			f.buf = append(f.buf, make([]byte, len(f.buf))...)
		}
	}
}

// numbers lists the entries of a directory whose names are numbers: processes or
// threads.
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
