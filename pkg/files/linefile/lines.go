package linefile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/coreos/dbtester/pkg/files/regularfile"
)

// Line is read from a file, without its line break.
type Line struct {
	Number int // from 1
	Text   string
}

// maxLine is the maximum length of a line in bytes. The longest lines that are written contain
// histograms.
const maxLine = 1 << 20

// readLine reads up to and including a line break.
func readLine(r *bufio.Reader) (string, error) {
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(long)+len(part) > maxLine {
			return "", fmt.Errorf("a line must be at most %d bytes", maxLine)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long == nil:
			return string(part), err
		default:
			return string(append(long, part...)), err
		}
		long = append(long, part...)
	}
}

// lineBound fails if a line is longer than maxLine bytes. Readers behind it would hold the whole
// line in memory.
type lineBound struct {
	r    io.Reader
	line int // bytes in the current line
}

func (b *lineBound) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if i := bytes.LastIndexByte(p[:n], '\n'); i >= 0 {
		b.line = n - i - 1
	} else {
		b.line += n
	}
	if b.line > maxLine {
		return 0, fmt.Errorf("a line must be at most %d bytes", maxLine)
	}
	return n, err
}

// Lines yields the whole lines in a file. An error is the last pair; it matches [ErrTruncated] if
// the last line is incomplete.
func Lines(path string) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		f, err := regularfile.Open(path)
		if err != nil {
			yield(Line{}, fmt.Errorf("read lines: %w", err))
			return
		}
		defer f.Close()
		r := bufio.NewReaderSize(f, 64<<10)
		for n := 1; ; n++ {
			text, err := readLine(r)
			switch {
			case err == io.EOF && text == "":
				return
			case err == io.EOF:
				yield(Line{}, fmt.Errorf("read %s: %w", path, ErrTruncated))
				return
			case err != nil:
				yield(Line{}, fmt.Errorf("read %s: %w", path, Bare(err)))
				return
			}
			if !yield(Line{n, strings.TrimRight(text, "\r\n")}, nil) {
				return
			}
		}
	}
}
