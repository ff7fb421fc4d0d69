package config

import (
	"slices"
	"strings"
)

// plot fills in a plot's axes and checks its column.
func (r *reader) plot(column, x, y given[string]) Plot {
	p := Plot{Column: column.is, XAxis: x.or("Second")}
	if real, ok := renamedColumns()[p.Column]; ok {
		r.warnf(column.at, "column: %q is read as %q", p.Column, real)
		p.Column = real
	}
	if !knownColumn(p.Column) {
		near := ""
		if n := nearest(p.Column, columns()); n != "" {
			near = " (did you mean \"" + n + "\"?)"
		}
		r.warnf(column.at, "column: %q is none that reports always have%s", p.Column, near)
	}
	p.YAxis = p.Column
	for _, d := range DefaultPlots() {
		if d.Column == p.Column {
			p.YAxis = d.YAxis
		}
	}
	p.YAxis = y.or(p.YAxis)
	return p
}

// renamedColumns are columns that classic files name and that never existed,
// with what they mean.
func renamedColumns() map[string]string {
	return map[string]string{
		"AVG-READ-BYTES-DELTA":     "AVG-READ-BYTES-NUM-DELTA",
		"AVG-WRITE-BYTES-DELTA":    "AVG-WRITE-BYTES-NUM-DELTA",
		"AVG-RECEIVE-BYTES-DELTA":  "AVG-RECEIVE-BYTES-NUM-DELTA",
		"AVG-TRANSMIT-BYTES-DELTA": "AVG-TRANSMIT-BYTES-NUM-DELTA",
	}
}

// knownColumn reports whether reports always have a column; those of a single
// server end in its number.
func knownColumn(column string) bool {
	if slices.Contains(columns(), column) {
		return true
	}
	i := strings.LastIndexByte(column, '-')
	return i > 0 && i+1 < len(column) && strings.Trim(column[i+1:], "0123456789") == ""
}

// columns are those of a database's table by seconds that concern all servers.
func columns() []string {
	return strings.Fields(`
		UNIX-SECOND SECOND AVG-CLIENT-NUM CONTROL-CLIENT-NUM
		MIN-LATENCY-MS AVG-LATENCY-MS MAX-LATENCY-MS AVG-THROUGHPUT CUMULATIVE-THROUGHPUT
		AVG-CPU MAX-CPU AVG-SYSTEM-LOAD-1-MIN AVG-VMRSS-MB
		AVG-READS-COMPLETED AVG-READS-COMPLETED-DELTA AVG-SECTORS-READ AVG-SECTORS-READ-DELTA
		AVG-WRITES-COMPLETED AVG-WRITES-COMPLETED-DELTA AVG-SECTORS-WRITTEN AVG-SECTORS-WRITTEN-DELTA
		AVG-READ-BYTES-NUM-DELTA AVG-WRITE-BYTES-NUM-DELTA
		AVG-RECEIVE-BYTES-NUM AVG-RECEIVE-BYTES-NUM-DELTA AVG-TRANSMIT-BYTES-NUM AVG-TRANSMIT-BYTES-NUM-DELTA
		AVG-VOLUNTARY-CTXT-SWITCHES AVG-NON-VOLUNTARY-CTXT-SWITCHES`)
}
