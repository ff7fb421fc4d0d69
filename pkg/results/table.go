package results

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrTruncated matches the error of a reader that dropped an incomplete last
// line, which a killed run leaves behind. The rows before it are good.
var ErrTruncated = errors.New("incomplete last line dropped")

// SyntaxError is malformed data in a file of a result folder.
type SyntaxError struct {
	File string
	// Line counts from 1.
	Line int
	// Column is the column's name, "" if the whole line is wrong.
	Column string
	Reason string
}

// Error is file:line: column: reason.
func (e *SyntaxError) Error() string {
	if e.Column == "" {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
	}
	return fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.Column, e.Reason)
}

// column is one column of a CSV file, declared once for writing and reading.
type column[T any] struct {
	name string
	// optional columns may be absent from a file that is read.
	optional bool
	// format appends the field, quoted if need be.
	format func(b []byte, row *T) []byte
	// parse sets the field in row; nil for columns that are made from others.
	parse func(row *T, field string) error
}

// headerLine returns the names of columns as a line.
func headerLine[T any](columns []column[T]) []byte {
	var b []byte
	for i, c := range columns {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, c.name)
	}
	return append(b, '\n')
}

// appendRow appends row as a line.
func appendRow[T any](b []byte, columns []column[T], row *T) []byte {
	for i, c := range columns {
		if i > 0 {
			b = append(b, ',')
		}
		b = c.format(b, row)
	}
	return append(b, '\n')
}

// appendText appends a CSV field. Line breaks become spaces, so that one row is
// always one line.
func appendText(b []byte, s string) []byte {
	s = lineBreaks.Replace(s)
	if !strings.ContainsAny(s, `",`) && !strings.HasPrefix(s, " ") {
		return append(b, s...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}

var lineBreaks = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ")

// textColumn holds a string.
func textColumn[T any, S ~string](name string, at func(*T) *S) column[T] {
	return column[T]{
		name:   name,
		format: func(b []byte, row *T) []byte { return appendText(b, string(*at(row))) },
		// The reader's fields share one string per line; a clone keeps only this one.
		parse: func(row *T, field string) error { *at(row) = S(strings.Clone(field)); return nil },
	}
}

// intColumn holds a number that is always known.
func intColumn[T any, N int | int64](name string, at func(*T) *N) column[T] {
	return column[T]{
		name:   name,
		format: func(b []byte, row *T) []byte { return strconv.AppendInt(b, int64(*at(row)), 10) },
		parse: func(row *T, field string) error {
			v, err := parseInt(field)
			*at(row) = N(v)
			return err
		},
	}
}

// floatColumn holds a number to its last bit.
func floatColumn[T any](name string, at func(*T) *float64) column[T] {
	return column[T]{
		name:   name,
		format: func(b []byte, row *T) []byte { return strconv.AppendFloat(b, *at(row), 'f', -1, 64) },
		parse: func(row *T, field string) error {
			v, err := parseFloat(field)
			*at(row) = v
			return err
		},
	}
}

// timeColumn holds an instant in UTC, empty for the zero time.
func timeColumn[T any](name string, at func(*T) *time.Time) column[T] {
	return column[T]{
		name: name,
		format: func(b []byte, row *T) []byte {
			if at(row).IsZero() {
				return b
			}
			return at(row).UTC().AppendFormat(b, time.RFC3339Nano)
		},
		parse: func(row *T, field string) error {
			if field == "" {
				return nil
			}
			v, err := time.Parse(time.RFC3339Nano, field)
			if err != nil {
				return fmt.Errorf("%q is not a time", field)
			}
			*at(row) = v
			return nil
		},
	}
}

// parseInt reads a whole number; the classic tool writes some with decimals,
// which are rounded.
func parseInt(field string) (int64, error) {
	v, err := strconv.ParseInt(field, 10, 64)
	if err == nil {
		return v, nil
	}
	f, ferr := strconv.ParseFloat(field, 64)
	if ferr != nil || math.Abs(f) >= 1<<63 || math.IsNaN(f) {
		return 0, fmt.Errorf("%q is not a whole number", field)
	}
	return int64(math.Round(f)), nil
}

func parseFloat(field string) (float64, error) {
	v, err := strconv.ParseFloat(field, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a number", field)
	}
	return v, nil
}

// readTable reads a CSV file whose columns are found by name; unknown ones are
// passed over. Every row begins as what blank returns for the file's header.
func readTable[T any](path string, columns []column[T], blank func(header []string) T) ([]T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	defer f.Close()
	whole, size, err := wholeLines(f)
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	r := csv.NewReader(io.NewSectionReader(f, 0, whole))
	r.ReuseRecord = true
	rows, err := readRows(path, r, columns, blank)
	if err == nil && (whole < size || size == 0) {
		err = fmt.Errorf("read %s: %w", path, ErrTruncated)
	}
	return rows, err
}

// readRows reads the header and every row.
func readRows[T any](path string, r *csv.Reader, columns []column[T], blank func(header []string) T) ([]T, error) {
	header, err := r.Read()
	if err == io.EOF {
		return nil, nil
	}
	if err != nil {
		return nil, csvError(path, err)
	}
	header = slices.Clone(header)
	fields, found, err := matchColumns(path, header, columns)
	if err != nil {
		return nil, err
	}
	first := blank(header)
	var rows []T
	for {
		record, err := r.Read()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, csvError(path, err)
		}
		row := first
		for i, c := range found {
			if err := c.parse(&row, record[fields[i]]); err != nil {
				line, _ := r.FieldPos(fields[i])
				reason := err.Error()
				if slices.Equal(record, header) {
					reason = "the header again: two files were joined here"
				}
				return rows, &SyntaxError{File: path, Line: line, Column: c.name, Reason: reason}
			}
		}
		rows = append(rows, row)
	}
}

// matchColumns returns the columns to parse and the index of each in a record.
func matchColumns[T any](path string, header []string, columns []column[T]) (fields []int, found []column[T], err error) {
	for _, c := range columns {
		if c.parse == nil {
			continue
		}
		i := slices.Index(header, c.name)
		switch {
		case i >= 0:
			fields, found = append(fields, i), append(found, c)
		case !c.optional:
			return nil, nil, &SyntaxError{File: path, Line: 1, Column: c.name, Reason: "column is missing"}
		}
	}
	return fields, found, nil
}

// csvError puts an error of the CSV reader into our form.
func csvError(path string, err error) error {
	if e, ok := errors.AsType[*csv.ParseError](err); ok {
		return &SyntaxError{File: path, Line: e.Line, Reason: e.Err.Error()}
	}
	return fmt.Errorf("read %s: %w", path, bare(err))
}

// tableWriter appends rows to a CSV file.
type tableWriter[T any] struct {
	rows    *rowFile
	columns []column[T]
}

func newTableWriter[T any](path string, columns []column[T]) (tableWriter[T], error) {
	rows, err := openRows(path, headerLine(columns))
	return tableWriter[T]{rows, columns}, err
}

// write appends all rows in one write call.
func (w *tableWriter[T]) write(rows []T) error {
	b := w.rows.buf[:0]
	for i := range rows {
		b = appendRow(b, w.columns, &rows[i])
	}
	w.rows.buf = b
	return w.rows.append(b)
}
