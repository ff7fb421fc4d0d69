package results

import (
	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/workload"
)

// intervalColumns declares intervals.csv, in the order of its columns.
func intervalColumns() []linefile.Column[Interval] {
	columns := []linefile.Column[Interval]{
		linefile.IntColumn("second", func(i *Interval) *int64 { return &i.Second }),
		linefile.IntColumn("step", func(i *Interval) *int { return &i.Step }),
		linefile.TextColumn("phase", func(i *Interval) *Phase { return &i.Phase }),
		linefile.TextColumn("operation", func(i *Interval) *string { return &i.Operation }),
		linefile.IntColumn("clients", func(i *Interval) *int { return &i.Clients }),
		linefile.IntColumn("due", func(i *Interval) *int64 { return &i.Due }),
		linefile.IntColumn("sent", func(i *Interval) *int64 { return &i.Sent }),
		linefile.IntColumn("ok", func(i *Interval) *int64 { return &i.OK }),
		linefile.IntColumn("failed", func(i *Interval) *int64 { return &i.Failed }),
		linefile.IntColumn("unknown", func(i *Interval) *int64 { return &i.Unknown }),
		linefile.IntColumn("shed", func(i *Interval) *int64 { return &i.Shed }),
		linefile.IntColumn("unsent", func(i *Interval) *int64 { return &i.Unsent }),
		linefile.IntColumn("queued", func(i *Interval) *int64 { return &i.Queued }),
		linefile.IntColumn("late", func(i *Interval) *int64 { return &i.Late }),
		linefile.IntColumn("backlog", func(i *Interval) *int64 { return &i.Backlog }),
		linefile.IntColumn("in_flight", func(i *Interval) *int64 { return &i.InFlight }),
		linefile.IntColumn("keys_cumulative", func(i *Interval) *int64 { return &i.KeysCumulative }),
	}
	for _, t := range timings() {
		for _, o := range workload.Outcomes {
			columns = append(columns, latencyColumns(t, o)...)
		}
	}
	waiting := linefile.IntColumn("waiting_ns", func(i *Interval) *int64 { return &i.WaitingNS })
	waiting.Optional = true // files of older versions have none
	gap := linefile.IntColumn("client_gap_ns", func(i *Interval) *int64 { return &i.GapNS })
	gap.Optional = true // likewise
	written := linefile.IntColumn("written_bytes", func(i *Interval) *int64 { return &i.WrittenBytes })
	written.Optional = true // likewise
	return append(columns, waiting, gap, written)
}

// latencyColumns returns the columns of one timing and outcome.
func latencyColumns(t timing, o workload.Outcome) []linefile.Column[Interval] {
	prefix := string(t.name) + "_" + o.String() + "_"
	at := func(i *Interval) *Latency { return &t.latencies(i)[o] }
	return []linefile.Column[Interval]{
		linefile.IntColumn(prefix+"count", func(i *Interval) *int64 { return &at(i).Count }),
		linefile.IntColumn(prefix+"sum_ns", func(i *Interval) *int64 { return &at(i).SumNS }),
		linefile.FloatColumn(prefix+"sum_sq_ms2", func(i *Interval) *float64 { return &at(i).SumSqMS2 }),
		linefile.IntColumn(prefix+"min_ns", func(i *Interval) *int64 { return &at(i).MinNS }),
		linefile.IntColumn(prefix+"max_ns", func(i *Interval) *int64 { return &at(i).MaxNS }),
		linefile.IntColumn(prefix+"p50_ns", func(i *Interval) *int64 { return &at(i).P50 }),
		linefile.IntColumn(prefix+"p90_ns", func(i *Interval) *int64 { return &at(i).P90 }),
		linefile.IntColumn(prefix+"p99_ns", func(i *Interval) *int64 { return &at(i).P99 }),
		linefile.IntColumn(prefix+"p999_ns", func(i *Interval) *int64 { return &at(i).P999 }),
	}
}

// IntervalWriter appends to intervals.csv. It is not safe for concurrent use.
type IntervalWriter struct {
	table linefile.TableWriter[Interval]
}

// NewIntervalWriter opens or creates the file; a new one gets its header at
// once.
func NewIntervalWriter(path string) (*IntervalWriter, error) {
	table, err := linefile.NewTableWriter(path, intervalColumns())
	if err != nil {
		return nil, err
	}
	return &IntervalWriter{table}, nil
}

// Write appends the rows and returns when the kernel has them. After an error
// every Write returns that error.
func (w *IntervalWriter) Write(rows []Interval) error { return w.table.Write(rows) }

// Close closes the file.
func (w *IntervalWriter) Close() error { return w.table.Close() }

// ReadIntervals reads intervals.csv. Columns are found by name. When the last line is
// incomplete, as a killed run leaves it, ReadIntervals returns the rows before it with an
// error matching [ErrTruncated]. For malformed data it returns the rows before it with a
// [*SyntaxError].
func ReadIntervals(path string) ([]Interval, error) {
	return linefile.ReadTable(path, intervalColumns(), linefile.ZeroRows[Interval])
}
