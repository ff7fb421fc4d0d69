package results

import "time"

// ErrorCount is one row of errors.csv: how often a class of error ended a
// request of a phase in one second. FirstText and FirstTime are set once per
// class and step. An empty Phase counts as measured.
type ErrorCount struct {
	Second    int64
	Step      int
	Phase     Phase
	Operation string
	Class     string
	Count     int64
	FirstText string
	FirstTime time.Time
}

// ErrorWriter appends to errors.csv. It is not safe for concurrent use.
type ErrorWriter struct{ rows *rowFile }

// NewErrorWriter opens or creates the file; a new one gets its header at once.
func NewErrorWriter(path string) (*ErrorWriter, error) { panic("todo") }

// Write appends the rows and returns when the kernel has them. After an error
// every Write returns that error.
func (w *ErrorWriter) Write(rows []ErrorCount) error { panic("todo") }

// Close closes the file.
func (w *ErrorWriter) Close() error { panic("todo") }

// ReadErrors reads errors.csv; its errors are those of [ReadIntervals].
func ReadErrors(path string) ([]ErrorCount, error) { panic("todo") }
