package logfile

import (
	"fmt"
	"os"
)

// Writer writes one log of this process within a bound. It is not safe for concurrent use.
type Writer struct {
	bound Bound
	file  *os.File
	size  int64 // where the next line begins
	next  int64 // position where the log continues after its cut
}

// NewWriter continues a log in a file, which must be open for reading and writing, but not for
// appending. The writer closes the file.
func NewWriter(f *os.File, b Bound) (*Writer, error) {
	cut, err := b.Trim(f)
	if err != nil {
		return nil, fmt.Errorf("continue log: %w", err)
	}
	w := &Writer{bound: b, file: f}
	if err := w.measure(cut); err != nil {
		return nil, fmt.Errorf("continue log: %w", err)
	}
	return w, nil
}

// Write appends text. If the log exceeds its bound, its middle is cut before Write returns.
func (w *Writer) Write(text []byte) (int, error) {
	n, err := w.file.WriteAt(text, w.size)
	w.size += int64(n)
	if err != nil || w.size-w.next <= w.bound.Tail+w.bound.Slack {
		return n, err
	}
	cut, err := w.bound.Trim(w.file)
	if err == nil {
		err = w.measure(cut)
	}
	if err != nil {
		return n, fmt.Errorf("keep log within %d bytes: %w", w.bound.Most(), err)
	}
	return n, nil
}

// measure records where the log continues. On a file system without holes, it has been truncated.
func (w *Writer) measure(cut Cut) error {
	info, err := w.file.Stat()
	if err != nil {
		return err
	}
	w.size, w.next = info.Size(), cut.Next
	return nil
}

// Close closes the file.
func (w *Writer) Close() error { return w.file.Close() }
