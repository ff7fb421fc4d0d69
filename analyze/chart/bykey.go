package chart

import (
	"fmt"
	"math"

	humanize "github.com/dustin/go-humanize"
)

// keyRow is the second of the series in which a number of keys was reached.
type keyRow struct {
	keys   float64
	second int // index in the series
}

// byKey returns a row for every multiple of the unit that was reached and one for the
// last key. A number that was never reached has no row.
func (s *Series) byKey() []keyRow {
	total := s.column("CUMULATIVE-THROUGHPUT")
	if len(total) == 0 || total[len(total)-1] == 0 {
		return nil
	}
	var rows []keyRow
	last := total[len(total)-1]
	unit := keyUnit(last)
	next := unit
	for i, reached := range total {
		for ; next <= reached; next += unit {
			rows = append(rows, keyRow{next, i})
		}
		if reached == last { // the second that the last key was reached in
			if next-unit < last {
				rows = append(rows, keyRow{last, i})
			}
			break
		}
	}
	return rows
}

// keyUnit is 1000 as in the classic files, or less for a load that would leave too few
// rows.
func keyUnit(total float64) float64 {
	unit := 1000.0
	for unit > 1 && total < 20*unit {
		unit /= 10
	}
	return unit
}

// keyColumn is a column of a by-key file.
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

func valueColumn(name string, decimals int, values []float64) keyColumn {
	return keyColumn{name, func(row keyRow) string { return decimal(values[row.second], decimals) }}
}

// bytesColumn prints bytes with a unit.
func bytesColumn(name string, values []float64) keyColumn {
	return keyColumn{name, func(row keyRow) string {
		v := values[row.second]
		if math.IsNaN(v) {
			return ""
		}
		return humanize.Bytes(uint64(v))
	}}
}

// memoryRange returns the least and the most memory of a server, by second.
func (s *Series) memoryRange(servers int) (least, most []float64) {
	least, most = make([]float64, len(s.Unix)), make([]float64, len(s.Unix))
	for i := range s.Unix {
		least[i], most[i] = math.NaN(), math.NaN()
	}
	for n := 1; n <= servers; n++ {
		for i, v := range s.column(fmt.Sprintf("VMRSS-MB-%d", n)) {
			if n == 1 {
				least[i], most[i] = v, v
			}
			least[i], most[i] = math.Min(least[i], v), math.Max(most[i], v) // a NaN stays
		}
	}
	return least, most
}

// MemoryByKey, ReadsByKey and WritesByKey return the classic by-key files.
func (s *Series) MemoryByKey(servers int) [][]string {
	least, most := s.memoryRange(servers)
	return s.byKeyRecords(
		valueColumn("MIN-VMRSS-MB", 2, least),
		valueColumn("AVG-VMRSS-MB", 2, s.column("AVG-VMRSS-MB")),
		valueColumn("MAX-VMRSS-MB", 2, most))
}

func (s *Series) ReadsByKey() [][]string {
	values := s.column("AVG-READ-BYTES-NUM-DELTA")
	return s.byKeyRecords(valueColumn("AVG-READ-BYTES-NUM-DELTA", 2, values), bytesColumn("AVG-READ-BYTES", values))
}

func (s *Series) WritesByKey() [][]string {
	values := s.column("AVG-WRITE-BYTES-NUM-DELTA")
	return s.byKeyRecords(valueColumn("AVG-WRITE-BYTES-NUM-DELTA", 2, values), bytesColumn("AVG-WRITE-BYTES", values))
}
