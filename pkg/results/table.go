package results

import (
	"errors"
	"fmt"
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
