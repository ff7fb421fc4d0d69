package results

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// file is what a rowFile needs of an *os.File.
type file interface {
	io.WriteCloser
	Truncate(size int64) error
}

var _ file = (*os.File)(nil)

// rowFile appends whole lines to a file, one write call each time, so that a
// killed process leaves only complete lines. It is not safe for concurrent use.
type rowFile struct {
	path string
	f    file
	size int64 // of the whole lines
	buf  []byte
	err  error // of the first failed write, returned from then on
}

// openRows opens or creates path for appending. A new file gets the header; an
// old one must begin with the header's first line, and loses an incomplete last
// line.
func openRows(path string, header []byte) (*rowFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, filePerm)
	if err != nil {
		return nil, fmt.Errorf("open for appending: %w", err)
	}
	r := &rowFile{path: path, f: f}
	if err := r.resume(f, header); err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

// resume finds where to go on in f, or writes the header.
func (r *rowFile) resume(f *os.File, header []byte) error {
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
		return r.append(header)
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

// append writes whole lines. After an error the file ends with the last whole
// line that fitted, if it can be cut there, and every call returns that error.
func (r *rowFile) append(lines []byte) error {
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
	r.err = fmt.Errorf("append to %s: %w", r.path, bare(err))
	if n > 0 {
		if err := r.f.Truncate(r.size); err != nil {
			r.err = fmt.Errorf("%w (and its incomplete last line stays: %w)", r.err, bare(err))
		}
	}
	return r.err
}

// close closes the file; a write error was already told by the write.
func (r *rowFile) close() error {
	if err := r.f.Close(); err != nil {
		return fmt.Errorf("close %s: %w", r.path, bare(err))
	}
	return nil
}

// bare takes the path off a file error that is reported with it.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// wholeLines returns where the last complete line of f ends, and f's size.
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
		end = start
	}
	return 0, size, nil
}
