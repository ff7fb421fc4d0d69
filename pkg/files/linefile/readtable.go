package linefile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/coreos/dbtester/pkg/files/regularfile"
)

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

// readRows reads a table of size bytes, 0 if unknown.
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

// openTable calls read with the whole lines in a file or in its compressed form, and with their
// byte count, 0 if it is not known before they are read.
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

// compressedTable calls read with the lines in a compressed file, unless it could not be opened.
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

// sampledRows is the number of rows read before the table size is estimated, so that a large table
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

// matchColumns returns the columns to parse and the index of each in a record.
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

// csvError converts an error from a CSV reader to our form.
func csvError(path string, err error) error {
	if e, ok := errors.AsType[*csv.ParseError](err); ok {
		return &SyntaxError{File: path, Line: e.Line, Reason: e.Err.Error()}
	}
	return fmt.Errorf("read %s: %w", path, Bare(err))
}
