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

// errorColumns are the columns of errors.csv, in order.
func errorColumns() []column[ErrorCount] {
	return []column[ErrorCount]{
		intColumn("second", func(e *ErrorCount) *int64 { return &e.Second }),
		intColumn("step", func(e *ErrorCount) *int { return &e.Step }),
		textColumn("phase", func(e *ErrorCount) *Phase { return &e.Phase }),
		textColumn("operation", func(e *ErrorCount) *string { return &e.Operation }),
		textColumn("class", func(e *ErrorCount) *string { return &e.Class }),
		intColumn("count", func(e *ErrorCount) *int64 { return &e.Count }),
		textColumn("first_text", func(e *ErrorCount) *string { return &e.FirstText }),
		timeColumn("first_time", func(e *ErrorCount) *time.Time { return &e.FirstTime }),
	}
}

// ErrorWriter appends to errors.csv. It is not safe for concurrent use.
type ErrorWriter struct{ table tableWriter[ErrorCount] }

// NewErrorWriter opens or creates the file; a new one gets its header at once.
func NewErrorWriter(path string) (*ErrorWriter, error) {
	table, err := newTableWriter(path, errorColumns())
	if err != nil {
		return nil, err
	}
	return &ErrorWriter{table}, nil
}

// Write appends the rows and returns when the kernel has them. Line breaks in
// texts become spaces. After an error every Write returns that error.
func (w *ErrorWriter) Write(rows []ErrorCount) error { return w.table.write(rows) }

// Close closes the file.
func (w *ErrorWriter) Close() error { return w.table.rows.close() }

// ReadErrors reads errors.csv; its errors are those of [ReadIntervals].
func ReadErrors(path string) ([]ErrorCount, error) {
	return readTable(path, errorColumns(), func([]string) ErrorCount { return ErrorCount{} })
}
