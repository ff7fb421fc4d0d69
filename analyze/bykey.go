package analyze

import (
	"fmt"
	"math"

	humanize "github.com/dustin/go-humanize"
)

// keyRow says in which second of the series a number of keys was reached.
type keyRow struct {
	keys   float64
	second int // index in the series
}

// byKey returns a row for every multiple of the unit that was reached and one
// for the last key. Keys that were never reached have no row: a row of zeros
// would be a number nobody measured.
func (s *series) byKey() []keyRow {
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

// keyUnit is 1000 as in the classic files, less for loads of which that would
// leave too few rows.
func keyUnit(total float64) float64 {
	unit := 1000.0
	for unit > 1 && total < 20*unit {
		unit /= 10
	}
	return unit
}

// keyColumn is one column of a by-key file.
type keyColumn struct {
	name string
	text func(row keyRow) string
}

// byKeyRecords is a by-key file.
func (s *series) byKeyRecords(columns ...keyColumn) [][]string {
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

// valueColumn is a by-key column of a quantity.
func valueColumn(name string, decimals int, values []float64) keyColumn {
	return keyColumn{name, func(row keyRow) string { return decimal(values[row.second], decimals) }}
}

// bytesColumn is a by-key column of bytes for people.
func bytesColumn(name string, values []float64) keyColumn {
	return keyColumn{name, func(row keyRow) string {
		v := values[row.second]
		if math.IsNaN(v) {
			return ""
		}
		return humanize.Bytes(uint64(v))
	}}
}

// memoryRange is the least and the most memory of a server, second by second.
func (s *series) memoryRange(servers int) (least, most []float64) {
	least, most = make([]float64, len(s.unix)), make([]float64, len(s.unix))
	for i := range s.unix {
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

// memoryByKey, readsByKey and writesByKey are the classic by-key files.
func (s *series) memoryByKey(servers int) [][]string {
	least, most := s.memoryRange(servers)
	return s.byKeyRecords(
		valueColumn("MIN-VMRSS-MB", 2, least),
		valueColumn("AVG-VMRSS-MB", 2, s.column("AVG-VMRSS-MB")),
		valueColumn("MAX-VMRSS-MB", 2, most))
}

func (s *series) readsByKey() [][]string {
	values := s.column("AVG-READ-BYTES-NUM-DELTA")
	return s.byKeyRecords(valueColumn("AVG-READ-BYTES-NUM-DELTA", 2, values), bytesColumn("AVG-READ-BYTES", values))
}

func (s *series) writesByKey() [][]string {
	values := s.column("AVG-WRITE-BYTES-NUM-DELTA")
	return s.byKeyRecords(valueColumn("AVG-WRITE-BYTES-NUM-DELTA", 2, values), bytesColumn("AVG-WRITE-BYTES", values))
}
