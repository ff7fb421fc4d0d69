// Package logfile limits the size of logs written by other processes. A log keeps its beginning,
// which contains the server's settings, and its end. In between, a line in the file itself states
// how many bytes were cut.
//
// The writer keeps the file open and is neither involved nor slowed down: the middle becomes a
// hole, which takes no disk space, while the writer keeps appending.
package logfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
)

// Bound is how much of a log is kept, in bytes.
type Bound struct {
	// Head is kept at the beginning, Tail at the end.
	Head, Tail int64
	// Slack is how much a log may exceed Head and Tail before it is cut.
	Slack int64
}

// DefaultBound keeps 64 MiB per log.
func DefaultBound() Bound { return Bound{Head: 8 << 20, Tail: 56 << 20, Slack: 4 << 20} }

// Most returns the maximum size of a log after a cut, without the line that states the cut.
func (b Bound) Most() int64 { return b.Head + b.Tail + b.Slack }

// Cut is the part removed from a log.
type Cut struct {
	// Bytes is the total number of bytes cut.
	Bytes int64
	// Next is the position in the file where the log continues.
	Next int64
}

// line returns the line that states the cut.
func (c Cut) line() string {
	return fmt.Sprintf("\n[dbtester: %d bytes of this log were cut here; it continues at byte %d of the file on its machine]\n", c.Bytes, c.Next)
}

var cutLine = regexp.MustCompile(`^\[dbtester: ([0-9]{1,18}) bytes of this log were cut here; it continues at byte ([0-9]{1,18}) of `)

// ParseCut parses a line that states a cut, without its line break; false for other lines.
func ParseCut(line []byte) (Cut, bool) {
	m := cutLine.FindSubmatch(line)
	if m == nil {
		return Cut{}, false
	}
	var c Cut
	c.Bytes, _ = strconv.ParseInt(string(m[1]), 10, 64) // at most 18 digits
	c.Next, _ = strconv.ParseInt(string(m[2]), 10, 64)
	return c, c.Bytes > 0
}

// maxCutLine exceeds the length of any line that states a cut.
const maxCutLine = 256

// cutOf returns the cut made in a file of size bytes, with its line.
func (b Bound) cutOf(f io.ReaderAt, size int64) (cut Cut, line string, err error) {
	none := Cut{Next: b.Head}
	if size <= b.Head {
		return none, "", nil
	}
	at := make([]byte, maxCutLine)
	n, err := f.ReadAt(at, b.Head)
	if err != nil && !errors.Is(err, io.EOF) {
		return none, "", err
	}
	text, begun := bytes.CutPrefix(at[:n], []byte("\n"))
	text, _, ended := bytes.Cut(text, []byte("\n"))
	cut, is := ParseCut(text)
	if !begun || !ended || !is || cut.Next <= b.Head || cut.Next > size {
		return none, "", nil
	}
	return cut, "\n" + string(text) + "\n", nil
}

// Trim cuts the middle out of a log that exceeds the bound, and returns everything cut so far. The
// file must be open for reading and writing, but not for appending. On a file system without holes,
// the log is truncated to its head, and the text written from then until the next Trim is kept. A
// process that appends meanwhile loses nothing Trim does not count, except on such a file system.
func (b Bound) Trim(f *os.File) (Cut, error) {
	info, err := f.Stat()
	if err != nil {
		return Cut{}, err
	}
	size := info.Size()
	cut, _, err := b.cutOf(f, size)
	if err != nil || size-cut.Next <= b.Tail+b.Slack {
		return cut, err
	}
	next := lineStart(f, size-b.Tail, size)
	deeper := Cut{Bytes: cut.Bytes + next - cut.Next, Next: next}
	line := deeper.line()
	from := b.Head + int64(len(line))
	if next <= from { // so small a cut has no room for its line
		return cut, nil
	}
	if err := punchHole(f, b.Head, int64(len(line))); err != nil {
		return b.cutBack(f, cut, size)
	}
	if _, err := f.WriteAt([]byte(line), b.Head); err != nil {
		return cut, err
	}
	if err := punchHole(f, from, next-from); err != nil {
		return deeper, fmt.Errorf("make a hole: %w", err)
	}
	return deeper, nil
}

// cutBack truncates a log to its head and the line that states the cut.
func (b Bound) cutBack(f *os.File, cut Cut, size int64) (Cut, error) {
	deeper := Cut{Bytes: cut.Bytes + size - cut.Next}
	for deeper.Next != b.Head+int64(len(deeper.line())) { // the length of the number affects that of the line
		deeper.Next = b.Head + int64(len(deeper.line()))
	}
	if _, err := f.WriteAt([]byte(deeper.line()), b.Head); err != nil {
		return cut, err
	}
	return deeper, f.Truncate(deeper.Next)
}

// maxLine is the maximum distance over which the beginning of a line is searched.
const maxLine = 64 << 10

// lineStart returns the first position from at on where a line begins, in a file of size bytes; at
// if the line there is too long.
func lineStart(f io.ReaderAt, at, size int64) int64 {
	part := make([]byte, min(maxLine, size-at))
	n, _ := f.ReadAt(part, at) // unreadable data has no line break
	if i := bytes.IndexByte(part[:n], '\n'); i >= 0 {
		return at + int64(i) + 1
	}
	return at
}

// Reader returns the kept parts of a log with size bytes on disk: everything, or head and tail with
// the line that states the cut in between. It returns at most [Bound.Most] bytes, whatever the
// size.
func (b Bound) Reader(f io.ReaderAt, size int64) (io.Reader, error) {
	cut, line, err := b.cutOf(f, size)
	if err != nil {
		return nil, err
	}
	if size-cut.Next > b.Tail+b.Slack { // it has grown since the last Trim
		next := lineStart(f, size-b.Tail, size)
		cut = Cut{Bytes: cut.Bytes + next - cut.Next, Next: next}
		line = cut.line()
	}
	if cut.Bytes == 0 {
		return io.NewSectionReader(f, 0, size), nil
	}
	return io.MultiReader(
		io.NewSectionReader(f, 0, b.Head), bytes.NewReader([]byte(line)), io.NewSectionReader(f, cut.Next, size-cut.Next),
	), nil
}
