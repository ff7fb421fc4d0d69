package chart

import (
	"github.com/coreos/dbtester/analyze/figure"
)

// keyFigures show the classic quantities over the number of keys.
func keyFigures(d *Data) []figure.Figure {
	latency := figure.Axis{Label: "Latency", Unit: "millisecond"}
	memory := figure.Axis{Label: "Memory", Unit: "MB"}
	pick := func(name string) func(int) []float64 {
		return func(i int) []float64 { return d.Series[i].column(name) }
	}
	least := func(i int) []float64 { v, _ := d.Series[i].memoryRange(len(d.Runs[i].Machines.Servers)); return v }
	most := func(i int) []float64 { _, v := d.Series[i].memoryRange(len(d.Runs[i].Machines.Servers)); return v }
	return []figure.Figure{
		d.keyFigure("AVG-LATENCY-MS-BY-KEY", "Latency", latency, pick("AVG-LATENCY-MS"), nil, nil, ""),
		d.keyFigure("AVG-LATENCY-MS-BY-KEY-ERROR-POINTS", "Latency", latency,
			pick("AVG-LATENCY-MS"), pick("MIN-LATENCY-MS"), pick("MAX-LATENCY-MS"), "shortest to longest of the second"),
		d.keyFigure("AVG-VMRSS-MB-BY-KEY", "Memory", memory, pick("AVG-VMRSS-MB"), nil, nil, ""),
		d.keyFigure("AVG-VMRSS-MB-BY-KEY-ERROR-POINTS", "Memory", memory,
			pick("AVG-VMRSS-MB"), least, most, "least to most of the members"),
		d.keyFigure("AVG-READ-BYTES-NUM-DELTA-BY-KEY", "Read Bytes",
			figure.Axis{Label: "Read Bytes", Unit: "bytes/s"}, pick("AVG-READ-BYTES-NUM-DELTA"), nil, nil, ""),
		d.keyFigure("AVG-WRITE-BYTES-NUM-DELTA-BY-KEY", "Write Bytes",
			figure.Axis{Label: "Write Bytes", Unit: "bytes/s"}, pick("AVG-WRITE-BYTES-NUM-DELTA"), nil, nil, ""),
	}
}

func (d *Data) keyFigure(name, what string, y figure.Axis, value, low, high func(int) []float64, band string) figure.Figure {
	f := figure.Figure{
		Name: name, Title: d.titled(what + " by " + d.counted()), Kind: figure.Lines, Band: band,
		X: figure.Axis{Label: "Cumulative Number of " + d.counted()}, Y: y,
	}
	for i, r := range d.Runs {
		s := line(r)
		rows := d.Series[i].byKey()
		for _, row := range rows {
			s.X = append(s.X, row.keys)
		}
		s.Y = at(rows, value(i))
		if low != nil {
			s.Low, s.High = at(rows, low(i)), at(rows, high(i))
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// at returns a quantity's values in the seconds of the rows.
func at(rows []keyRow, values []float64) []float64 {
	out := make([]float64, len(rows))
	for i, row := range rows {
		out[i] = values[row.second]
	}
	return out
}
