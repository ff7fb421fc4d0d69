package linefile

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Column describes one column in a CSV file, declared once for writing and reading.
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

// AppendText appends s as a CSV field. Line breaks become spaces, so that a row is always one line.
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
	var last atomic.Pointer[string] // most rows repeat the text in the previous row
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

// Checked returns the column with a check on each row after it has parsed its field.
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
