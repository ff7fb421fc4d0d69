// Package logfile keeps logs that other processes write within a bound. A log keeps its
// beginning, which has the settings of the server, and its end. Between them a line of
// the file itself gives the number of bytes that were cut.
//
// The writer holds the file and is neither asked nor slowed down: the middle becomes a
// hole, which takes no space on the disk, while the writer appends.
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
	// Head is kept from the beginning, Tail from the end.
	Head, Tail int64
	// Slack is how much more there may be before a cut is made.
	Slack int64
}

// DefaultBound keeps 64 MiB of each log.
func DefaultBound() Bound { return Bound{Head: 8 << 20, Tail: 56 << 20, Slack: 4 << 20} }

// Most is the most that a log of this bound holds after a cut, without the line that
// gives the cut.
func (b Bound) Most() int64 { return b.Head + b.Tail + b.Slack }

// Cut is the part of a log that was given up.
type Cut struct {
	// Bytes is how much was cut in all; 0 is nothing.
	Bytes int64
	// Next is the place in the file where the log continues.
	Next int64
}

// line is the line that gives a cut, in a line of its own.
func (c Cut) line() string {
	return fmt.Sprintf("\n[dbtester: %d bytes of this log were cut here; it continues at byte %d of the file on its machine]\n", c.Bytes, c.Next)
}

var cutLine = regexp.MustCompile(`^\[dbtester: ([0-9]{1,18}) bytes of this log were cut here; it continues at byte ([0-9]{1,18}) of `)

// ParseCut returns the cut that a line of a log gives, without its line break; false for
// other lines.
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

// maxCutLine is more than the line that gives a cut ever needs.
const maxCutLine = 256

// cutOf returns the cut that was made in a file of size bytes, with its line.
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

// Trim cuts the middle out of a log that has grown past the bound, and returns all that
// was cut so far. The file must be open for reading and writing, and not for appending.
// On a file system without holes the log is cut back to its head, and the text between
// that and the next Trim is kept. A process that appends meanwhile loses nothing that
// Trim has not counted, except on such a file system.
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
	if next <= from { // a cut so small has no room for its line
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

// cutBack cuts a log back to its head and the line that gives the cut.
func (b Bound) cutBack(f *os.File, cut Cut, size int64) (Cut, error) {
	deeper := Cut{Bytes: cut.Bytes + size - cut.Next}
	for deeper.Next != b.Head+int64(len(deeper.line())) { // the number has a length of its own
		deeper.Next = b.Head + int64(len(deeper.line()))
	}
	if _, err := f.WriteAt([]byte(deeper.line()), b.Head); err != nil {
		return cut, err
	}
	return deeper, f.Truncate(deeper.Next)
}

// maxLine is how far the beginning of a line is searched for.
const maxLine = 64 << 10

// lineStart returns the first place from at on, in a file of size bytes, where a line
// begins; at if the line there is too long.
func lineStart(f io.ReaderAt, at, size int64) int64 {
	part := make([]byte, min(maxLine, size-at))
	n, _ := f.ReadAt(part, at) // what cannot be read has no line break
	if i := bytes.IndexByte(part[:n], '\n'); i >= 0 {
		return at + int64(i) + 1
	}
	return at
}

// Reader returns what is kept of a log that has size bytes on its disk: all of it, or
// head and tail with the line between them that gives the cut. It holds no more than
// [Bound.Most] whatever the size.
func (b Bound) Reader(f io.ReaderAt, size int64) (io.Reader, error) {
	cut, line, err := b.cutOf(f, size)
	if err != nil {
		return nil, err
	}
	if size-cut.Next > b.Tail+b.Slack { // it grew since the last Trim
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
