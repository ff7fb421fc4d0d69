package results

import (
	"errors"
	"io/fs"
	"time"

	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/metric"
)

// DatabaseSample is what one member reports on itself at one time: one row in a database-metrics
// CSV.
type DatabaseSample struct {
	// UnixNano is when the member was asked, by the wall clock on its machine.
	UnixNano int64
	// AskedNS is the time until the answer came, and Bytes its size.
	AskedNS, Bytes int64
	// Error is why there is no answer; the values are then unknown.
	Error string
	// Values are the numbers in [metric.OfDatabase], Histograms its histograms; absent ones are
	// unknown.
	Values     metric.Values
	Histograms map[metric.Name]metric.Buckets
}

// Second returns the unix second within which the member was asked.
func (s *DatabaseSample) Second() int64 { return s.UnixNano / int64(time.Second) }

// databaseColumns returns the columns in a database-metrics CSV.
func databaseColumns() []linefile.Column[DatabaseSample] {
	columns := []linefile.Column[DatabaseSample]{
		linefile.IntColumn("UNIX-NANOSECOND", func(s *DatabaseSample) *int64 { return &s.UnixNano }),
		linefile.IntColumn("ASKED-NANOSECONDS", func(s *DatabaseSample) *int64 { return &s.AskedNS }),
		linefile.IntColumn("ANSWER-BYTES", func(s *DatabaseSample) *int64 { return &s.Bytes }),
		linefile.TextColumn("ERROR", func(s *DatabaseSample) *string { return &s.Error }),
	}
	for _, m := range metric.OfDatabase().Metrics() {
		column := databaseColumn(m)
		column.Optional = true
		columns = append(columns, column)
	}
	return columns
}

func databaseColumn(m metric.Metric) linefile.Column[DatabaseSample] {
	if m.Kind == metric.Histogram {
		var reader metric.BucketsReader
		return linefile.Column[DatabaseSample]{
			Name:   m.Column,
			Format: func(b []byte, s *DatabaseSample) []byte { return s.Histograms[m.Name].AppendText(b) },
			Parse: func(s *DatabaseSample, field string) error {
				h, err := reader.Parse(field)
				if h.Known() {
					s.Histograms[m.Name] = h
				}
				return err
			},
		}
	}
	at, _ := metric.OfDatabase().Index(m.Name)
	return linefile.Column[DatabaseSample]{
		Name:   m.Column,
		Format: func(b []byte, s *DatabaseSample) []byte { return appendMetric(b, m, s.Values.At(at)) },
		Parse:  parser(m, func(s *DatabaseSample, v float64) { s.Values.SetAt(at, v) }),
	}
}

// NewDatabaseSample returns a sample with every value unknown.
func NewDatabaseSample() DatabaseSample {
	return DatabaseSample{Values: metric.OfDatabase().Values(), Histograms: map[metric.Name]metric.Buckets{}}
}

// DatabaseSampleWriter appends to a database-metrics CSV. It is not safe for concurrent
// use.
type DatabaseSampleWriter struct {
	table linefile.TableWriter[DatabaseSample]
}

// NewDatabaseSampleWriter opens or creates the file. A new file gets its header at once.
func NewDatabaseSampleWriter(path string) (*DatabaseSampleWriter, error) {
	table, err := linefile.NewTableWriter(path, databaseColumns())
	if err != nil {
		return nil, err
	}
	return &DatabaseSampleWriter{table}, nil
}

// Write appends one row and returns when the kernel has it. After an error every Write
// returns that error.
func (w *DatabaseSampleWriter) Write(s DatabaseSample) error {
	return w.table.Write([]DatabaseSample{s})
}

// Close closes the file.
func (w *DatabaseSampleWriter) Close() error { return w.table.Close() }

// ReadDatabaseSamples reads a database-metrics CSV. A missing file has no samples: the database
// reports nothing, or was not asked. Other errors are as in [ReadIntervals].
func ReadDatabaseSamples(path string) ([]DatabaseSample, error) {
	samples, err := linefile.ReadTable(path, databaseColumns(), func([]string) func() DatabaseSample { return NewDatabaseSample })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return samples, err
}

// EachDatabaseSample reads a database-metrics CSV as [ReadDatabaseSamples] does, with its
// errors, and calls each with one sample after another. A sample is valid until the next;
// its histograms stay valid.
func EachDatabaseSample(path string, each func(*DatabaseSample)) error {
	next := func([]string) func() *DatabaseSample {
		row := NewDatabaseSample()
		return func() *DatabaseSample {
			row.Values.Forget()
			clear(row.Histograms)
			row = DatabaseSample{Values: row.Values, Histograms: row.Histograms}
			return &row
		}
	}
	err := linefile.EachRow(path, databaseColumns(), next, each)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
