package results

import (
	"errors"
	"io/fs"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/linefile"
	"github.com/coreos/dbtester/pkg/metric"
)

// DatabaseSample is what one member reported of itself at one time: one row of a
// database-metrics CSV.
type DatabaseSample struct {
	// UnixNano is when the member was asked, by the wall clock of its machine.
	UnixNano int64
	// AskedNS is how long the answer took, and Bytes how long it was.
	AskedNS, Bytes int64
	// Error is why there is no answer; the values are then unknown.
	Error string
	// Values are the numbers of [metric.OfDatabase], Histograms its histograms; those
	// that are absent are unknown.
	Values     metric.Values
	Histograms map[metric.Name]metric.Buckets
}

// Second is in unix time: the member was asked within it.
func (s *DatabaseSample) Second() int64 { return s.UnixNano / int64(time.Second) }

// databaseColumns are the columns of a database-metrics CSV.
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
		var last atomic.Pointer[metric.Buckets] // all rows of a member have the same bounds
		return linefile.Column[DatabaseSample]{
			Name:   m.Column,
			Format: func(b []byte, s *DatabaseSample) []byte { return s.Histograms[m.Name].AppendText(b) },
			Parse: func(s *DatabaseSample, field string) error {
				h, err := metric.ParseBuckets(field)
				if !h.Known() {
					return err
				}
				if before := last.Load(); before != nil && slices.Equal(before.Bounds, h.Bounds) {
					h.Bounds = before.Bounds
				} else {
					last.Store(&h)
				}
				s.Histograms[m.Name] = h
				return err
			},
		}
	}
	at, _ := metric.OfDatabase().Index(m.Name)
	return linefile.Column[DatabaseSample]{
		Name:   m.Column,
		Format: func(b []byte, s *DatabaseSample) []byte { return appendMetric(b, m, s.Values.At(at)) },
		Parse: func(s *DatabaseSample, field string) error {
			v, err := parseMetric(m, field)
			s.Values.SetAt(at, v)
			return err
		},
	}
}

// NewDatabaseSample returns a sample that knows nothing.
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

// ReadDatabaseSamples reads a database-metrics CSV. A file that does not exist has no
// samples: the database reports nothing, or was not asked. Its other errors are those of
// [ReadIntervals].
func ReadDatabaseSamples(path string) ([]DatabaseSample, error) {
	samples, err := linefile.ReadTable(path, databaseColumns(), func([]string) func() DatabaseSample { return NewDatabaseSample })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return samples, err
}
