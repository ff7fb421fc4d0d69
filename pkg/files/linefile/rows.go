package linefile

import (
	"bufio"
	"encoding/csv"
	"io"
	"strings"
)

// rowReader reads the records in a CSV file like a [csv.Reader], with the same errors. It splits
// lines without a quotation mark, almost all lines, by itself in a fraction of the time. From the
// first other line on, it leaves the file to the library.
type rowReader struct {
	lines  *bufio.Reader
	line   int // the last line read, from 1
	width  int // number of fields in the first record; 0 before it
	bytes  int64
	fields []string
	quoted *csv.Reader // nil until the first quotation mark
	before int         // lines before quoted took over
}

func newRowReader(r io.Reader) *rowReader { return &rowReader{lines: bufio.NewReaderSize(r, 64<<10)} }

// read returns the next record, whose fields share one string. The slice is valid until the next
// call.
func (r *rowReader) read() ([]string, error) {
	for r.quoted == nil {
		text, err := readLine(r.lines)
		if text == "" {
			return nil, err
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		if strings.IndexByte(text, '"') >= 0 {
			r.leave(text)
			break
		}
		r.line++
		r.bytes += int64(len(text))
		text = strings.TrimSuffix(text, "\n")
		if text = strings.TrimSuffix(text, "\r"); text == "" {
			continue
		}
		return r.split(text)
	}
	record, err := r.quoted.Read()
	if err == nil {
		r.line, _ = r.quoted.FieldPos(0)
		r.line += r.before
	}
	if e, ok := err.(*csv.ParseError); ok {
		e.Line += r.before
		e.StartLine += r.before
	}
	return record, err
}

// leave hands the file over to the library, starting with the line text.
func (r *rowReader) leave(text string) {
	r.before = r.line
	r.quoted = csv.NewReader(io.MultiReader(strings.NewReader(text), r.lines))
	r.quoted.ReuseRecord = true
	r.quoted.FieldsPerRecord = r.width
}

func (r *rowReader) split(text string) ([]string, error) {
	r.fields = r.fields[:0]
	for {
		i := strings.IndexByte(text, ',')
		if i < 0 {
			break
		}
		r.fields = append(r.fields, text[:i])
		text = text[i+1:]
	}
	r.fields = append(r.fields, text)
	if r.width == 0 {
		r.width = len(r.fields)
	}
	if len(r.fields) != r.width {
		return r.fields, &csv.ParseError{StartLine: r.line, Line: r.line, Column: 1, Err: csv.ErrFieldCount}
	}
	return r.fields, nil
}

// rowsIn estimates the number of rows in a file of size bytes from the rows read so far; 0 if
// unknown.
func (r *rowReader) rowsIn(size int64) int {
	if r.quoted != nil || r.bytes == 0 {
		return 0
	}
	return int(size * int64(r.line) / r.bytes)
}
