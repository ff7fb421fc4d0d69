package results

import "github.com/coreos/dbtester/pkg/files/linefile"

import "time"

// ErrorCount is one row of errors.csv: how often errors in a class with one message ended a request
// in one phase and second. In Message numbers are N, addresses ADDR and ids ID; a load has few
// messages, and "others" counts the rest. Message is empty in files from older versions. FirstText
// and FirstTime are set once per class and step. An empty Phase counts as measured.
type ErrorCount struct {
	Second    int64
	Step      int
	Phase     Phase
	Operation string
	Class     string
	Count     int64
	FirstText string
	FirstTime time.Time
	Message   string
}

// errorColumns declares errors.csv, in column order.
func errorColumns() []linefile.Column[ErrorCount] {
	message := linefile.TextColumn("message", func(e *ErrorCount) *string { return &e.Message })
	message.Optional = true
	return []linefile.Column[ErrorCount]{
		linefile.IntColumn("second", func(e *ErrorCount) *int64 { return &e.Second }),
		linefile.IntColumn("step", func(e *ErrorCount) *int { return &e.Step }),
		linefile.TextColumn("phase", func(e *ErrorCount) *Phase { return &e.Phase }),
		linefile.TextColumn("operation", func(e *ErrorCount) *string { return &e.Operation }),
		linefile.TextColumn("class", func(e *ErrorCount) *string { return &e.Class }),
		linefile.IntColumn("count", func(e *ErrorCount) *int64 { return &e.Count }),
		linefile.TextColumn("first_text", func(e *ErrorCount) *string { return &e.FirstText }),
		linefile.TimeColumn("first_time", func(e *ErrorCount) *time.Time { return &e.FirstTime }),
		message,
	}
}

// ErrorWriter appends to errors.csv. It is not safe for concurrent use.
type ErrorWriter struct {
	table linefile.TableWriter[ErrorCount]
}

// NewErrorWriter opens or creates the file; a new one gets its header at once.
func NewErrorWriter(path string) (*ErrorWriter, error) {
	table, err := linefile.NewTableWriter(path, errorColumns())
	if err != nil {
		return nil, err
	}
	return &ErrorWriter{table}, nil
}

// Write appends the rows and returns when the kernel has them. Line breaks in
// texts become spaces. After an error every Write returns that error.
func (w *ErrorWriter) Write(rows []ErrorCount) error { return w.table.Write(rows) }

// Close closes the file.
func (w *ErrorWriter) Close() error { return w.table.Close() }

// ReadErrors reads errors.csv; its errors are as in [ReadIntervals].
func ReadErrors(path string) ([]ErrorCount, error) {
	return linefile.ReadTable(path, errorColumns(), linefile.ZeroRows[ErrorCount])
}
