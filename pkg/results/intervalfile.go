package results

// intervalColumns are the columns of intervals.csv, in order.
func intervalColumns() []column[Interval] {
	columns := []column[Interval]{
		intColumn("second", func(i *Interval) *int64 { return &i.Second }),
		intColumn("step", func(i *Interval) *int { return &i.Step }),
		textColumn("phase", func(i *Interval) *Phase { return &i.Phase }),
		textColumn("operation", func(i *Interval) *string { return &i.Operation }),
		intColumn("clients", func(i *Interval) *int { return &i.Clients }),
		intColumn("due", func(i *Interval) *int64 { return &i.Due }),
		intColumn("sent", func(i *Interval) *int64 { return &i.Sent }),
		intColumn("ok", func(i *Interval) *int64 { return &i.OK }),
		intColumn("failed", func(i *Interval) *int64 { return &i.Failed }),
		intColumn("unknown", func(i *Interval) *int64 { return &i.Unknown }),
		intColumn("shed", func(i *Interval) *int64 { return &i.Shed }),
		intColumn("unsent", func(i *Interval) *int64 { return &i.Unsent }),
		intColumn("queued", func(i *Interval) *int64 { return &i.Queued }),
		intColumn("late", func(i *Interval) *int64 { return &i.Late }),
		intColumn("backlog", func(i *Interval) *int64 { return &i.Backlog }),
		intColumn("in_flight", func(i *Interval) *int64 { return &i.InFlight }),
		intColumn("keys_cumulative", func(i *Interval) *int64 { return &i.KeysCumulative }),
	}
	for _, t := range Timings {
		for _, o := range Outcomes {
			columns = append(columns, latencyColumns(t, o)...)
		}
	}
	return columns
}

// latencyColumns are the columns of one timing and outcome.
func latencyColumns(t Timing, o Outcome) []column[Interval] {
	prefix := string(t) + "_" + o.String() + "_"
	at := func(i *Interval) *Latency { return i.Latency(t, o) }
	return []column[Interval]{
		intColumn(prefix+"count", func(i *Interval) *int64 { return &at(i).Count }),
		intColumn(prefix+"sum_ns", func(i *Interval) *int64 { return &at(i).SumNS }),
		floatColumn(prefix+"sum_sq_ms2", func(i *Interval) *float64 { return &at(i).SumSqMS2 }),
		intColumn(prefix+"min_ns", func(i *Interval) *int64 { return &at(i).MinNS }),
		intColumn(prefix+"max_ns", func(i *Interval) *int64 { return &at(i).MaxNS }),
		intColumn(prefix+"p50_ns", func(i *Interval) *int64 { return &at(i).P50 }),
		intColumn(prefix+"p90_ns", func(i *Interval) *int64 { return &at(i).P90 }),
		intColumn(prefix+"p99_ns", func(i *Interval) *int64 { return &at(i).P99 }),
		intColumn(prefix+"p999_ns", func(i *Interval) *int64 { return &at(i).P999 }),
	}
}

// IntervalWriter appends to intervals.csv. It is not safe for concurrent use.
type IntervalWriter struct{ table tableWriter[Interval] }

// NewIntervalWriter opens or creates the file; a new one gets its header at
// once.
func NewIntervalWriter(path string) (*IntervalWriter, error) {
	table, err := newTableWriter(path, intervalColumns())
	if err != nil {
		return nil, err
	}
	return &IntervalWriter{table}, nil
}

// Write appends the rows and returns when the kernel has them. After an error
// every Write returns that error.
func (w *IntervalWriter) Write(rows []Interval) error { return w.table.write(rows) }

// Close closes the file.
func (w *IntervalWriter) Close() error { return w.table.rows.close() }

// ReadIntervals reads intervals.csv. Columns are found by name. When the last
// line is incomplete, as a killed run leaves it, the rows before it come with an
// error matching [ErrTruncated]; malformed data is a [*SyntaxError], with the
// rows before it.
func ReadIntervals(path string) ([]Interval, error) {
	return readTable(path, intervalColumns(), func([]string) Interval { return Interval{} })
}
