package linefile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/files/regularfile"
)

// ErrTruncated matches the error of a reader that dropped an incomplete last line, left by a killed
// run. The rows before it are valid.
var ErrTruncated = errors.New("incomplete last line dropped")

// SyntaxError reports malformed data in a file.
type SyntaxError struct {
	File string
	// Line counts from 1.
	Line int
	// Column is the column's name; "" if the whole line is wrong.
	Column string
	Reason string
}

// Error formats the error as file:line: column: reason.
func (e *SyntaxError) Error() string {
	if e.Column == "" {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
	}
	return fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.Column, e.Reason)
}

// Column describes one column of a CSV file, declared once for writing and reading.
type Column[T any] struct {
	Name string
	// Optional columns may be missing from a file.
	Optional bool
	// Format appends the field, quoted if necessary.
	Format func(b []byte, row *T) []byte
	// Parse sets the field in row; nil for columns derived from others.
	Parse func(row *T, field string) error
}

// HeaderLine returns the column names as a line.
func HeaderLine[T any](columns []Column[T]) []byte {
	var b []byte
	for i, c := range columns {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendText(b, c.Name)
	}
	return append(b, '\n')
}

// AppendRow appends row as a line.
func AppendRow[T any](b []byte, columns []Column[T], row *T) []byte {
	for i, c := range columns {
		if i > 0 {
			b = append(b, ',')
		}
		b = c.Format(b, row)
	}
	return append(b, '\n')
}

// AppendText appends a CSV field. Line breaks become spaces, so that a row is always one line.
func AppendText(b []byte, s string) []byte {
	s = lineBreaks.Replace(s)
	if !strings.ContainsAny(s, `",`) && !strings.HasPrefix(s, " ") {
		return append(b, s...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}

var lineBreaks = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ")

// TextColumn holds a string.
func TextColumn[T any, S ~string](name string, at func(*T) *S) Column[T] {
	var last atomic.Pointer[string] // most rows repeat the previous row's text
	return Column[T]{
		Name:   name,
		Format: func(b []byte, row *T) []byte { return AppendText(b, string(*at(row))) },
		// The reader's fields share one string per line; a clone retains only this one.
		Parse: func(row *T, field string) error {
			same := last.Load()
			if same == nil || *same != field {
				field = strings.Clone(field)
				same = &field
				last.Store(same)
			}
			*at(row) = S(*same)
			return nil
		},
	}
}

// IntColumn holds a number that is always known.
func IntColumn[T any, N int | int64](name string, at func(*T) *N) Column[T] {
	return Column[T]{
		Name:   name,
		Format: func(b []byte, row *T) []byte { return strconv.AppendInt(b, int64(*at(row)), 10) },
		Parse: func(row *T, field string) error {
			v, err := ParseInt(field)
			*at(row) = N(v)
			return err
		},
	}
}

// Checked returns the column with a check of each row after it has parsed its field.
func (c Column[T]) Checked(check func(row *T) error) Column[T] {
	parse := c.Parse
	c.Parse = func(row *T, field string) error {
		if err := parse(row, field); err != nil {
			return err
		}
		return check(row)
	}
	return c
}

// FloatColumn holds a number with full precision.
func FloatColumn[T any](name string, at func(*T) *float64) Column[T] {
	return Column[T]{
		Name:   name,
		Format: func(b []byte, row *T) []byte { return strconv.AppendFloat(b, *at(row), 'f', -1, 64) },
		Parse: func(row *T, field string) error {
			v, err := ParseFloat(field)
			*at(row) = v
			return err
		},
	}
}

// TimeColumn holds a time in UTC; empty for the zero time.
func TimeColumn[T any](name string, at func(*T) *time.Time) Column[T] {
	return Column[T]{
		Name: name,
		Format: func(b []byte, row *T) []byte {
			if at(row).IsZero() {
				return b
			}
			return at(row).UTC().AppendFormat(b, time.RFC3339Nano)
		},
		Parse: func(row *T, field string) error {
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

// ParseInt parses a whole number. The classic tool writes some with decimals, which are rounded.
func ParseInt(field string) (int64, error) {
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

func ParseFloat(field string) (float64, error) {
	v, err := strconv.ParseFloat(field, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a number", field)
	}
	return v, nil
}

// maxTable is the maximum size of a CSV file in bytes: more than a day of seconds.
const maxTable = 1 << 30

// ReadTable reads a CSV file whose columns are found by name; unknown columns are ignored. Given
// the file's header, blank returns a function that makes each row before its columns are parsed.
// With an error, ReadTable also returns the rows read before it.
func ReadTable[T any](path string, columns []Column[T], blank func(header []string) func() T) (rows []T, err error) {
	err = openTable(path, func(r *rowReader, size int64) (err error) {
		rows, err = readRows(path, r, size, columns, blank)
		return err
	})
	return rows, err
}

// ParseTable reads whole lines in memory like [ReadTable] does a file's. Errors call them by name.
func ParseTable[T any](name string, text []byte, columns []Column[T], blank func(header []string) func() T) ([]T, error) {
	return readRows(name, newRowReader(&lineBound{r: bytes.NewReader(text)}), int64(len(text)), columns, blank)
}

// readRows reads a table of some bytes.
func readRows[T any](path string, r *rowReader, size int64, columns []Column[T], blank func(header []string) func() T) (rows []T, err error) {
	next := func(header []string) func() *T {
		row := blank(header)
		return func() *T {
			if len(rows) == sampledRows {
				rows = slices.Grow(rows, max(r.rowsIn(size)-sampledRows, 0))
			}
			rows = append(rows, row())
			return &rows[len(rows)-1]
		}
	}
	bad, err := eachRow(path, r, columns, next, func(*T) {})
	if bad {
		rows = rows[:len(rows)-1]
	}
	return rows, err
}

// EachRow reads a CSV file like [ReadTable], and calls each with each row. Given the file's header,
// next returns a function that returns where to store the next row, which may always be the same
// place.
func EachRow[T any](path string, columns []Column[T], next func(header []string) func() *T, each func(*T)) error {
	return openTable(path, func(r *rowReader, _ int64) error {
		_, err := eachRow(path, r, columns, next, each)
		return err
	})
}

// openTable calls read with the whole lines of a file or of its compressed form, and with their
// number of bytes, 0 if it is not known before they are read.
func openTable(path string, read func(r *rowReader, size int64) error) error {
	f, err := regularfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if packed, other := openCompressed(path + Compressed); !errors.Is(other, fs.ErrNotExist) {
			return compressedTable(packed, other, read)
		}
	}
	if err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	defer f.Close()
	whole, size, err := wholeLines(f)
	if err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	if whole > maxTable {
		return fmt.Errorf("read %s: a table must be at most %d bytes, got %d", path, int64(maxTable), whole)
	}
	err = read(newRowReader(&lineBound{r: io.NewSectionReader(f, 0, whole)}), whole)
	if err == nil && (whole < size || size == 0) {
		err = fmt.Errorf("read %s: %w", path, ErrTruncated)
	}
	return err
}

// compressedTable calls read with the lines of a compressed file, unless it could not be opened.
func compressedTable(packed *compressedFile, err error, read func(r *rowReader, size int64) error) error {
	if err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	defer packed.Close()
	return read(newRowReader(&lineBound{r: packed}), 0)
}

// ZeroRows makes zero rows for any header.
func ZeroRows[T any]([]string) func() T { return func() (row T) { return row } }

// OneRow stores all rows in the same place: each is valid until the next.
func OneRow[T any]([]string) func() *T {
	var zero, row T
	return func() *T { row = zero; return &row }
}

// sampledRows is the number of rows after which a table's size is estimated, so that a large table
// grows only once.
const sampledRows = 64

// eachRow reads the header and every row. With an error, it reports whether next was called for the
// bad row.
func eachRow[T any](path string, r *rowReader, columns []Column[T], next func(header []string) func() *T, each func(*T)) (bad bool, err error) {
	header, err := r.read()
	if err == io.EOF {
		return false, nil
	}
	if err != nil {
		return false, csvError(path, err)
	}
	header = slices.Clone(header)
	fields, found, err := matchColumns(path, header, columns)
	if err != nil {
		return false, err
	}
	place := next(header)
	for {
		record, err := r.read()
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, csvError(path, err)
		}
		row := place()
		for i := range found {
			if err := found[i].Parse(row, record[fields[i]]); err != nil {
				reason := err.Error()
				if slices.Equal(record, header) {
					reason = "the header again: two files were joined here"
				}
				return true, &SyntaxError{File: path, Line: r.line, Column: found[i].Name, Reason: reason}
			}
		}
		each(row)
	}
}

// matchColumns returns the columns to parse and each one's index in a record.
func matchColumns[T any](path string, header []string, columns []Column[T]) (fields []int, found []Column[T], err error) {
	for _, c := range columns {
		if c.Parse == nil {
			continue
		}
		i := slices.Index(header, c.Name)
		switch {
		case i >= 0:
			fields, found = append(fields, i), append(found, c)
		case !c.Optional:
			return nil, nil, &SyntaxError{File: path, Line: 1, Column: c.Name, Reason: "column is missing"}
		}
	}
	return fields, found, nil
}

// csvError converts a CSV reader's error to our form.
func csvError(path string, err error) error {
	if e, ok := errors.AsType[*csv.ParseError](err); ok {
		return &SyntaxError{File: path, Line: e.Line, Reason: e.Err.Error()}
	}
	return fmt.Errorf("read %s: %w", path, Bare(err))
}

// TableWriter appends rows to a CSV file. It is not safe for concurrent use.
type TableWriter[T any] struct {
	file    *File
	columns []Column[T]
	buf     []byte
}

// NewTableWriter opens or creates the file like [Open]. A new file gets its header at once.
func NewTableWriter[T any](path string, columns []Column[T]) (TableWriter[T], error) {
	f, err := Open(path, HeaderLine(columns))
	return TableWriter[T]{file: f, columns: columns}, err
}

// Write appends all rows in one write call. When it returns, the kernel has them.
func (w *TableWriter[T]) Write(rows []T) error {
	b := w.buf[:0]
	for i := range rows {
		b = AppendRow(b, w.columns, &rows[i])
	}
	w.buf = b
	return w.file.Append(b)
}

func (w *TableWriter[T]) Close() error { return w.file.Close() }
