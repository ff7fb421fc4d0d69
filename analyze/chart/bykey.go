package chart

import (
	"math"

	humanize "github.com/dustin/go-humanize"
)

// keyRow is a key count, with the seconds that the load took to reach it from the previous row. A
// second in which several rows were reached belongs to each of them.
type keyRow struct {
	keys        float64
	first, last int // indexes in the series, inclusive
}

// byKey returns a row for every reached multiple of the unit, and one for the last key. A count
// that was never reached has no row.
func (s *Series) byKey() []keyRow {
	total := s.column("CUMULATIVE-THROUGHPUT")
	if len(total) == 0 || total[len(total)-1] == 0 {
		return nil
	}
	var rows []keyRow
	last := total[len(total)-1]
	unit := keyUnit(last)
	next, first := unit, 0
	for i, reached := range total {
		for ; next <= reached; next += unit {
			rows = append(rows, keyRow{next, first, i})
			first = i
		}
		if reached == last { // the second in which the last key was reached
			if next-unit < last {
				rows = append(rows, keyRow{last, first, i})
			}
			break
		}
		if len(rows) > 0 && rows[len(rows)-1].last == i {
			first = i + 1 // this second already belongs to the previous rows
		}
	}
	return rows
}

// keyUnit is 1000 as in the classic files, or less for a load that would have too few rows.
func keyUnit(total float64) float64 {
	unit := 1000.0
	for unit > 1 && total < 20*unit {
		unit /= 10
	}
	return unit
}

// keyColumn is a column in a by-key file.
type keyColumn struct {
	name string
	text func(row keyRow) string
}

// byKeyRecords returns a by-key file.
func (s *Series) byKeyRecords(columns ...keyColumn) [][]string {
	header := []string{"KEYS"}
	for _, c := range columns {
		header = append(header, c.name)
	}
	out := [][]string{header}
	for _, row := range s.byKey() {
		line := []string{decimal(row.keys, 0)}
		for _, c := range columns {
			line = append(line, c.text(row))
		}
		out = append(out, line)
	}
	return out
}

func valueColumn(name string, decimals int, values []float64, merge merge) keyColumn {
	return keyColumn{name, func(row keyRow) string { return decimal(merge(values, row), decimals) }}
}

// bytesColumn formats bytes with a unit.
func bytesColumn(name string, values []float64, merge merge) keyColumn {
	return keyColumn{name, func(row keyRow) string {
		v := merge(values, row)
		if math.IsNaN(v) {
			return ""
		}
		return humanize.Bytes(uint64(v))
	}}
}

// merge combines the values in the seconds of a row. Seconds without a value are ignored; a row
// without any value is a gap.
type merge func(values []float64, row keyRow) float64

func meanOf(values []float64, row keyRow) float64 {
	return meanBy(func(int) float64 { return 1 })(values, row)
}

// meanBy returns a weighted mean.
func meanBy(weight func(second int) float64) merge {
	return func(values []float64, row keyRow) float64 {
		sum, weights := 0.0, 0.0
		for i := row.first; i <= row.last; i++ {
			if w := weight(i); w > 0 && !math.IsNaN(values[i]) {
				sum, weights = sum+w*values[i], weights+w
			}
		}
		return sum / weights // NaN if no second has a value
	}
}

func leastOf(values []float64, row keyRow) float64 { return extremeOf(values, row, math.Min) }

func mostOf(values []float64, row keyRow) float64 { return extremeOf(values, row, math.Max) }

func extremeOf(values []float64, row keyRow, of func(a, b float64) float64) float64 {
	found := math.NaN()
	for _, v := range values[row.first : row.last+1] {
		if math.IsNaN(found) {
			found = v
		} else if !math.IsNaN(v) {
			found = of(found, v)
		}
	}
	return found
}

// meanInside averages the seconds inside a step, or all seconds if none lies inside a step: a
// partial second counts fewer requests.
func (s *Series) meanInside() merge {
	whole := meanBy(func(second int) float64 {
		if s.inside[second] {
			return 1
		}
		return 0
	})
	return func(values []float64, row keyRow) float64 {
		if v := whole(values, row); !math.IsNaN(v) {
			return v
		}
		return meanOf(values, row)
	}
}

// meanRequest weights seconds by their requests, so that the latency in a row is the mean over its
// requests.
func (s *Series) meanRequest() merge {
	requests := s.column("AVG-THROUGHPUT")
	return meanBy(func(second int) float64 { return requests[second] })
}

// memoryRange returns the lowest and highest memory over the servers, by second.
func (s *Series) memoryRange(servers int) (least, most []float64) {
	least, most = make([]float64, len(s.Unix)), make([]float64, len(s.Unix))
	for i := range s.Unix {
		least[i], most[i] = math.NaN(), math.NaN()
	}
	for n := 1; n <= servers; n++ {
		for i, v := range s.column(memberColumn("VMRSS-MB", n-1)) {
			if n == 1 {
				least[i], most[i] = v, v
			}
			least[i], most[i] = math.Min(least[i], v), math.Max(most[i], v) // NaN is kept
		}
	}
	return least, most
}

// MemoryByKey, ReadsByKey and WritesByKey return the classic by-key files.
func (s *Series) MemoryByKey(servers int) [][]string {
	least, most := s.memoryRange(servers)
	return s.byKeyRecords(
		valueColumn("MIN-VMRSS-MB", 2, least, leastOf),
		valueColumn("AVG-VMRSS-MB", 2, s.column("AVG-VMRSS-MB"), meanOf),
		valueColumn("MAX-VMRSS-MB", 2, most, mostOf))
}

func (s *Series) ReadsByKey() [][]string {
	values := s.loaded("AVG-READ-BYTES-NUM-DELTA")
	return s.byKeyRecords(valueColumn("AVG-READ-BYTES-NUM-DELTA", 2, values, s.meanInside()), bytesColumn("AVG-READ-BYTES", values, s.meanInside()))
}

func (s *Series) WritesByKey() [][]string {
	values := s.loaded("AVG-WRITE-BYTES-NUM-DELTA")
	return s.byKeyRecords(valueColumn("AVG-WRITE-BYTES-NUM-DELTA", 2, values, s.meanInside()), bytesColumn("AVG-WRITE-BYTES", values, s.meanInside()))
}
