package observation

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// columns returns the column names of a value: for times their number, their sum and the longest
// one.
func (v Value) columns() []string {
	if v.Merging == Times {
		return []string{v.Name + "_n", v.Name + "_sum_ns", v.Name + "_max_ns"}
	}
	return []string{v.Name}
}

// columns declares the per-second file.
func (g Group) columns() []linefile.Column[Second] {
	list := []linefile.Column[Second]{
		linefile.IntColumn("second", func(s *Second) *int64 { return &s.Second }),
		linefile.IntColumn("step", func(s *Second) *int { return &s.Step }),
	}
	for i, v := range g.Values {
		names := v.columns()
		if v.Merging != Times {
			list = append(list, known(names[0], i))
			continue
		}
		list = append(list,
			linefile.IntColumn(names[0], func(s *Second) *int64 { return &s.Numbers[i].N }),
			linefile.IntColumn(names[1], func(s *Second) *int64 { return &s.Numbers[i].Value }),
			linefile.IntColumn(names[2], func(s *Second) *int64 { return &s.Numbers[i].Longest }))
	}
	return list
}

// known declares the column for number i; it is empty in seconds without an observation. The file
// lacks the observation count: a number read from it counts as one.
func known(name string, i int) linefile.Column[Second] {
	return linefile.Column[Second]{
		Name: name,
		Format: func(b []byte, s *Second) []byte {
			if s.Numbers[i].N == 0 {
				return b
			}
			return strconv.AppendInt(b, s.Numbers[i].Value, 10)
		},
		Parse: func(s *Second, field string) error {
			if field == "" {
				return nil
			}
			v, err := linefile.ParseInt(field)
			s.Numbers[i] = Number{N: 1, Value: v}
			return err
		},
	}
}

// Writer appends seconds to group files. It is not safe for concurrent use.
type Writer struct {
	group Group
	table linefile.TableWriter[Second]
	log   *histogram.LogWriter // nil without times
}

// NewWriter opens or creates the files of g in dir, the folder of a tag. The load began at start.
func NewWriter(g Group, dir string, start time.Time) (*Writer, error) {
	table, err := linefile.NewTableWriter(filepath.Join(dir, g.File()), g.columns())
	if err != nil {
		return nil, err
	}
	w := &Writer{group: g, table: table}
	if g.timed() {
		if w.log, err = histogram.NewLogWriter(filepath.Join(dir, g.Log()), start); err != nil {
			return nil, errors.Join(err, table.Close())
		}
	}
	return w, nil
}

// Write appends seconds. A second may be written again with later observations, which readers
// add.
func (w *Writer) Write(seconds []Second) error {
	errs := []error{w.table.Write(seconds)}
	for _, s := range seconds {
		for i, v := range w.group.Values {
			if v.Merging != Times || s.Numbers[i].N == 0 {
				continue
			}
			errs = append(errs, w.log.WriteBuckets(time.Unix(s.Second, 0), time.Second, fmt.Sprintf("%s:step%d", v.Name, s.Step), s.Numbers[i].Times))
		}
	}
	return errors.Join(errs...)
}

// Close closes the files.
func (w *Writer) Close() error {
	err := w.table.Close()
	if w.log != nil {
		err = errors.Join(err, w.log.Close())
	}
	return err
}

// Read returns the seconds in the file of g in their order, without the histograms for times. Rows
// with the same second and step are merged. The rows before an error are good; it matches
// [linefile.ErrTruncated] if only an incomplete last line was dropped.
func Read(g Group, dir string) ([]Second, error) {
	rows, err := linefile.ReadTable(filepath.Join(dir, g.File()), g.columns(), func([]string) func() Second {
		return func() Second { return Second{Numbers: make([]Number, len(g.Values))} }
	})
	return g.Merge(rows), err
}
