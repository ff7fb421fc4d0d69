package logfile

import (
	"fmt"
	"os"
)

// Writer writes a log of this process within a bound. It is not safe for concurrent use.
type Writer struct {
	bound Bound
	file  *os.File
	size  int64 // where the next line goes
	next  int64 // where the log continues after its cut
}

// NewWriter continues the log in a file, which must be open for reading and writing, and
// not for appending. The writer closes the file.
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

// Write adds text to the end. Of a log that has grown past its bound the middle is cut
// before Write returns.
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

// measure notes where the log continues. A file system without holes has cut it back.
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
