package results

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
)

// line is one line of a text file, without its line break.
type line struct {
	number int // from 1
	text   string
}

// readLines yields the whole lines of a file; an error is the last pair, one
// matching [ErrTruncated] for an incomplete last line.
func readLines(path string) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(line{}, fmt.Errorf("read lines: %w", err))
			return
		}
		defer f.Close()
		r := bufio.NewReaderSize(f, 64<<10)
		for n := 1; ; n++ {
			text, err := r.ReadString('\n')
			switch {
			case err == io.EOF && text == "":
				return
			case err == io.EOF:
				yield(line{}, fmt.Errorf("read %s: %w", path, ErrTruncated))
				return
			case err != nil:
				yield(line{}, fmt.Errorf("read %s: %w", path, bare(err)))
				return
			}
			if !yield(line{n, strings.TrimRight(text, "\r\n")}, nil) {
				return
			}
		}
	}
}
