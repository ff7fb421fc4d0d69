package linefile

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
