package chart

import (
	"cmp"
	"strings"

	"github.com/coreos/dbtester/analyze/figure"
)

// plotTitle names the quantity in a plot over time. Columns have the names used in classic files.
func plotTitle(p Plot) string {
	names := map[string]string{
		"AVG-THROUGHPUT":                  "Throughput over time",
		"AVG-LATENCY-MS":                  "Latency over time, mean of each second",
		"AVG-CPU":                         "CPU over time, mean of the members",
		"MAX-CPU":                         "CPU over time, busiest member",
		"AVG-VMRSS-MB":                    "Memory over time, mean of the members",
		"AVG-READS-COMPLETED-DELTA":       "Disk reads over time, requests of a member",
		"AVG-WRITES-COMPLETED-DELTA":      "Disk writes over time, requests of a member",
		"AVG-SECTORS-READ-DELTA":          "Sectors read over time, mean of the members",
		"AVG-SECTORS-WRITTEN-DELTA":       "Sectors written over time, mean of the members",
		"AVG-READ-BYTES-NUM-DELTA":        "Disk reads over time, bytes of a member",
		"AVG-WRITE-BYTES-NUM-DELTA":       "Disk writes over time, bytes of a member",
		"AVG-RECEIVE-BYTES-NUM-DELTA":     "Network, received over time, mean of the members",
		"AVG-TRANSMIT-BYTES-NUM-DELTA":    "Network, transmitted over time, mean of the members",
		"AVG-VOLUNTARY-CTXT-SWITCHES":     "Voluntary context switches over time, mean of the members",
		"AVG-NON-VOLUNTARY-CTXT-SWITCHES": "Non-voluntary context switches over time, mean of the members",
	}
	return cmp.Or(names[p.Column], axisOf(p).Label)
}

// axisOf splits an axis such as "Latency(millisecond)" into label and unit, using the words and
// units in all other figures. Bytes per second get ticks in kB, MB and so on.
func axisOf(p Plot) figure.Axis {
	label, unit := p.YAxis, ""
	if open := strings.LastIndex(label, "("); open > 0 && strings.HasSuffix(label, ")") {
		label, unit = strings.TrimSpace(label[:open]), strings.TrimSuffix(label[open+1:], ")")
	}
	if strings.Contains(p.Column, "BYTES") && strings.HasSuffix(p.Column, "-DELTA") {
		label, unit = strings.TrimSuffix(label, "(bytes)"), "bytes/s"
	}
	units := map[string]string{"millisecond": "ms", "Requests/Second": "requests/s", "Delta per Second": "per second"}
	labels := map[string]string{
		"Average CPU": "CPU", "Maximum CPU": "CPU", "Disk Reads": "Disk reads", "Disk Writes": "Disk writes",
		"Sectors Read": "Sectors read", "Sectors Written": "Sectors written", "Read Bytes": "Disk reads", "Write Bytes": "Disk writes",
		"Network Receive": "Network, received", "Network Transmit": "Network, transmitted",
		"Voluntary Context Switches": "Context switches", "Non-voluntary Context Switches": "Context switches",
	}
	return figure.Axis{Label: cmp.Or(labels[label], label), Unit: cmp.Or(units[unit], unit)}
}
