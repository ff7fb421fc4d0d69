package logrule

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/process/logfile"
)

// maxLine bounds the bytes matched in a line: no event needs as much.
const maxLine = 16 << 10

// maxText bounds the bytes that an event keeps from a line.
const maxText = 400

// Line is an event found in a log, with its line. It is valid during the call that receives it.
type Line struct {
	Found
	// Number counts lines from 1.
	Number int64
	// Time is the line's, or that of the last line before it with a time; zero without one. It is
	// by the clock on the machine that wrote the log.
	Time time.Time
	// Cut is a part missing from the log. Event is then empty.
	Cut logfile.Cut

	line []byte
}

// Text returns the line, shortened and safe to print.
func (l *Line) Text() string {
	text := strings.ToValidUTF8(string(l.line[:min(len(l.line), maxText)]), "?")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text))
}

// Scan calls each with every event in a log, in order, and with each cut. Times without a year
// are in year. It stops at the first error.
func (m *Matcher) Scan(r io.Reader, year int, each func(*Line) error) error {
	lines := bufio.NewReaderSize(r, maxLine)
	now := Line{}
	for {
		line, more, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		now.Number++
		now.line = line
		if at, ok := m.Time(line, year); ok {
			now.Time = at
		}
		if err := m.scanLine(&now, each); err != nil {
			return err
		}
		for more && err == nil { // the rest of a long line
			_, more, err = lines.ReadLine()
		}
	}
}

// scanLine calls each with the events in a line.
func (m *Matcher) scanLine(l *Line, each func(*Line) error) error {
	if cut, ok := logfile.ParseCut(l.line); ok {
		l.Found, l.Cut = Found{}, cut
		err := each(l)
		l.Cut = logfile.Cut{}
		return err
	}
	for _, l.Found = range m.Match(l.line) {
		if err := each(l); err != nil {
			return err
		}
	}
	return nil
}
