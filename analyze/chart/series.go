package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/coreos/dbtester/analyze/run"
)

// Series joins the client and server records of a run by second: one row per second in the load,
// with the same columns as the classic CSV. A gap is NaN, as in figures.
type Series struct {
	Unix    []int64
	run     *run.Run
	columns []seriesColumn
	// inside marks the seconds inside the steps, and early those that began before the load.
	inside, early []bool
}

// seriesColumn holds one value per second.
type seriesColumn struct {
	name     string
	decimals int // -1: as many as needed
	// values are nil until needed; of computes them from the server readings.
	values []float64
	// short has the values of a long load once its samples may be forgotten, for figures alone.
	short []float32
	of    func(run.Row) float64
	// hidden columns are for figures only.
	hidden bool
	// period means that the column describes the work of a machine during the second. In a second
	// that began before the load, it does not belong to the load.
	period bool
}

// column returns the values of a quantity, or nil if the series has no such column.
func (s *Series) column(name string) []float64 {
	at := slices.IndexFunc(s.columns, func(c seriesColumn) bool { return c.name == name })
	if at < 0 {
		return nil
	}
	if short := s.columns[at].short; short != nil {
		return widened(short)
	}
	if s.columns[at].values == nil {
		if slices.ContainsFunc(s.run.Machines.Servers, func(m run.Machine) bool { return m.Samples.Cut() }) {
			panic(fmt.Sprintf("column %q must be among those of Drawn", name)) // a mistake in this package
		}
		s.eachRow([]string{name}, func(int, run.Row) {})
	}
	return s.columns[at].values
}

// eachRow calls each with the server readings for every second, and keeps the values in the named
// columns.
func (s *Series) eachRow(keep []string, each func(i int, row run.Row)) {
	var kept []*seriesColumn
	for i := range s.columns {
		if c := &s.columns[i]; c.values == nil && slices.Contains(keep, c.name) {
			c.values = make([]float64, len(s.Unix))
			kept = append(kept, c)
		}
	}
	s.run.Machines.EachRow(s.Unix[0], len(s.Unix), func(i int, row run.Row) {
		for _, c := range kept {
			c.values[i] = c.of(row)
		}
		each(i, row)
	})
}

// shortFrom is the load length in seconds from which [Series.Keep] keeps values to seven digits:
// columns for a day take the largest part of the memory, and a figure draws means over minutes.
const shortFrom = 6 * 3600

// Keep computes the named columns and keeps their values, so that the samples may be forgotten.
func (s *Series) Keep(names []string) {
	if len(s.Unix) < shortFrom {
		s.eachRow(names, func(int, run.Row) {})
		return
	}
	s.keepShort(names)
}

// keepShort is Keep for a long load.
func (s *Series) keepShort(names []string) {
	var kept []*seriesColumn
	for i := range s.columns {
		if c := &s.columns[i]; c.values == nil && c.short == nil && slices.Contains(names, c.name) {
			c.short = make([]float32, len(s.Unix))
			kept = append(kept, c)
		}
	}
	s.run.Machines.EachRow(s.Unix[0], len(s.Unix), func(i int, row run.Row) {
		for _, c := range kept {
			c.short[i] = float32(c.of(row))
		}
	})
}

// widened returns values as figures take them.
func widened(short []float32) []float64 {
	values := make([]float64, len(short))
	for i, v := range short {
		values[i] = float64(v)
	}
	return values
}

// loaded returns the values of a quantity, with gaps where they do not belong to the load.
func (s *Series) loaded(name string) []float64 {
	at := slices.IndexFunc(s.columns, func(c seriesColumn) bool { return c.name == name })
	if at < 0 || !s.columns[at].period {
		return s.column(name)
	}
	values := slices.Clone(s.column(name))
	for i, early := range s.early {
		if early {
			values[i] = math.NaN()
		}
	}
	return values
}

// overPeriod reports whether a quantity accumulates over each second, so that a partial second has
// less of it.
func (s *Series) overPeriod(name string) bool {
	return name == "AVG-THROUGHPUT" || slices.ContainsFunc(s.columns, func(c seriesColumn) bool { return c.name == name && c.period })
}

// Lines is a CSV file: a header, and lines with numbers that need no quotation marks.
type Lines struct {
	Header []string
	// Each calls write with each line. A line is valid until write returns.
	Each func(write func(line []byte))
}

// Lines returns the series as a CSV file; a gap is an empty field. While it makes the lines, the
// series keeps the values in the named columns, so they need not be read again.
func (s *Series) Lines(keep []string) Lines {
	l := Lines{}
	shown := 0 // hidden columns come last
	for _, c := range s.columns {
		if !c.hidden {
			l.Header = append(l.Header, c.name)
			shown++
		}
	}
	l.Each = func(write func([]byte)) {
		var line []byte
		fields := make([]field, shown)
		s.eachRow(keep, func(i int, row run.Row) {
			line = line[:0]
			for j := range shown {
				if j > 0 {
					line = append(line, ',')
				}
				c := &s.columns[j]
				if c.values != nil {
					line = fields[j].append(line, c.values[i], c.decimals)
				} else {
					line = fields[j].append(line, c.of(row), c.decimals)
				}
			}
			write(append(line, '\n'))
		})
	}
	return l
}

// field caches the last formatted value in a column. Most values repeat that in the previous line.
type field struct {
	value float64
	text  []byte
	known bool
}

// append appends a value to a line.
func (f *field) append(line []byte, v float64, decimals int) []byte {
	if !f.known || math.Float64bits(v) != math.Float64bits(f.value) {
		f.text, f.value, f.known = appendDecimal(f.text[:0], v, decimals), v, true
	}
	return append(line, f.text...)
}

// decimal formats a value; "" for a gap.
func decimal(v float64, decimals int) string { return string(appendDecimal(nil, v, decimals)) }

func appendDecimal(b []byte, v float64, decimals int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return b
	}
	if whole := int64(v); math.Abs(v) < 1e15 && math.Float64bits(float64(whole)) == math.Float64bits(v) {
		b = strconv.AppendInt(b, whole, 10)
		if decimals > 0 {
			b = append(append(b, '.'), "000000"[:decimals]...)
		}
		return b
	}
	return strconv.AppendFloat(b, v, 'f', decimals, 64)
}
