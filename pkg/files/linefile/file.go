package linefile

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// file has the *os.File methods that File uses.
type file interface {
	io.WriteCloser
	Truncate(size int64) error
}

var _ file = (*os.File)(nil)

// File appends whole lines to a file, with one write call each time, so that a killed process
// leaves only complete lines. It is not safe for concurrent use.
type File struct {
	path string
	f    file
	size int64 // size up to the last whole line
	err  error // the error of the first failed write, returned from then on
}

// Open opens or creates path for appending. It writes header to a new file. An existing file must
// begin with the first line of header; an incomplete last line is cut off.
func Open(path string, header []byte) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open for appending: %w", err)
	}
	r := &File{path: path, f: f}
	if err := r.resume(f, header); err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

// resume finds the position to continue at in f, or writes the header.
func (r *File) resume(f *os.File, header []byte) error {
	whole, size, err := wholeLines(f)
	if err != nil {
		return fmt.Errorf("open for appending: %w", err)
	}
	if whole < size {
		if err := f.Truncate(whole); err != nil {
			return fmt.Errorf("drop incomplete last line: %w", err)
		}
	}
	r.size = whole
	if whole == 0 {
		return r.Append(header)
	}
	first := header[:bytes.IndexByte(header, '\n')+1]
	have := make([]byte, min(int64(len(first)), whole))
	if _, err := f.ReadAt(have, 0); err != nil {
		return fmt.Errorf("read header: %w", err)
	}
	if !bytes.Equal(have, first) {
		return fmt.Errorf("append to %s: it begins with another header", r.path)
	}
	return nil
}

// Append writes whole lines. After an error, the file is cut after the last whole line if possible,
// and every later call returns the same error.
func (r *File) Append(lines []byte) error {
	if r.err != nil {
		return r.err
	}
	if len(lines) == 0 {
		return nil
	}
	n, err := r.f.Write(lines)
	if err == nil {
		r.size += int64(n)
		return nil
	}
	r.size += int64(bytes.LastIndexByte(lines[:n], '\n') + 1)
	r.err = fmt.Errorf("append to %s: %w", r.path, Bare(err))
	if n > 0 {
		if err := r.f.Truncate(r.size); err != nil {
			r.err = fmt.Errorf("%w (and its incomplete last line stays: %w)", r.err, Bare(err))
		}
	}
	return r.err
}

// Close closes the file. It does not repeat an earlier write error.
func (r *File) Close() error {
	if err := r.f.Close(); err != nil {
		return fmt.Errorf("close %s: %w", r.path, Bare(err))
	}
	return nil
}

func (r *File) Path() string { return r.path }

// Size returns the total length of the whole lines in bytes.
func (r *File) Size() int64 { return r.size }

// Err returns the error of the first failed write, or nil.
func (r *File) Err() error { return r.err }

// wholeLines returns the end of the last complete line in f, and the file size.
func wholeLines(f *os.File) (whole, size int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	size = info.Size()
	buf := make([]byte, 64<<10)
	for end := size; end > 0; {
		start := max(end-int64(len(buf)), 0)
		part := buf[:end-start]
		if _, err := f.ReadAt(part, start); err != nil {
			return 0, 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return start + int64(i) + 1, size, nil
		}
		if end = start; size-end > maxLine {
			return 0, 0, fmt.Errorf("a line must be at most %d bytes", maxLine)
		}
	}
	return 0, size, nil
}
