package results

// IntervalWriter appends to intervals.csv. It is not safe for concurrent use.
type IntervalWriter struct{ rows *rowFile }

// NewIntervalWriter opens or creates the file; a new one gets its header at
// once.
func NewIntervalWriter(path string) (*IntervalWriter, error) { panic("todo") }

// Write appends the rows and returns when the kernel has them. After an error
// every Write returns that error.
func (w *IntervalWriter) Write(rows []Interval) error { panic("todo") }

// Close closes the file.
func (w *IntervalWriter) Close() error { panic("todo") }

// ReadIntervals reads intervals.csv. Columns are found by name. When the last
// line is incomplete, as a killed run leaves it, the rows before it come with an
// error matching [ErrTruncated]; malformed data is a [*SyntaxError], with the
// rows before it.
func ReadIntervals(path string) ([]Interval, error) { panic("todo") }
