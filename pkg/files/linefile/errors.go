package linefile

import (
	"errors"
	"fmt"
	"io/fs"
)

// ErrTruncated matches the error of a reader that dropped an incomplete last line, left by a killed
// run. The rows before it are valid.
var ErrTruncated = errors.New("incomplete last line dropped")

// SyntaxError reports malformed data in a file.
type SyntaxError struct {
	File string
	// Line counts from 1.
	Line int
	// Column is the column name; "" if the whole line is wrong.
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

// Bare removes the path from a file error whose path is reported separately.
func Bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
