package chart

import (
	"math"
	"slices"
	"strconv"
)

// Series holds the records of a run by second, clients and servers joined: one row per
// second of the load, in the columns of the classic CSV. A gap is NaN, as in figures.
type Series struct {
	Unix    []int64
	columns []seriesColumn
	// inside marks seconds that lie inside the steps, early those that began before the
	// load.
	inside, early []bool
}

// seriesColumn holds one value per second.
type seriesColumn struct {
	name     string
	decimals int // -1: as many as the value has
	values   []float64
	// period: of what a machine did in the second, so that it is not the load's in a
	// second that began before the load.
	period bool
}

// column returns the values of one quantity, nil if the series has no such column.
func (s *Series) column(name string) []float64 {
	for _, c := range s.columns {
		if c.name == name {
			return c.values
		}
	}
	return nil
}

// loaded returns the values of one quantity with gaps where they are not the load's.
func (s *Series) loaded(name string) []float64 {
	at := slices.IndexFunc(s.columns, func(c seriesColumn) bool { return c.name == name })
	if at < 0 || !s.columns[at].period {
		return s.column(name)
	}
	values := slices.Clone(s.columns[at].values)
	for i, early := range s.early {
		if early {
			values[i] = math.NaN()
		}
	}
	return values
}

// overPeriod reports whether the values of a quantity are of what happened in each
// second, so that a part of a second has less of it.
func (s *Series) overPeriod(name string) bool {
	return name == "AVG-THROUGHPUT" || slices.ContainsFunc(s.columns, func(c seriesColumn) bool { return c.name == name && c.period })
}

// Records is the series as a CSV file; a gap is an empty field.
func (s *Series) Records() [][]string {
	header := make([]string, len(s.columns))
	for i, c := range s.columns {
		header[i] = c.name
	}
	out := [][]string{header}
	for i := range s.Unix {
		row := make([]string, len(s.columns))
		for j, c := range s.columns {
			row[j] = decimal(c.values[i], c.decimals)
		}
		out = append(out, row)
	}
	return out
}

// decimal prints a value, "" for a gap.
func decimal(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}
