package chart

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
)

// keyFigures show the classic quantities over the key count.
func keyFigures(d *Data) []figure.Figure {
	latency := figure.Axis{Label: "Latency", Unit: "ms", Log: true}
	memory := figure.Axis{Label: "Memory", Unit: "MB"}
	pick := func(name string) func(int) []float64 {
		return func(i int) []float64 { return d.Series[i].loaded(name) }
	}
	least := func(i int) []float64 { v, _ := d.Series[i].memoryRange(len(d.Runs[i].Machines.Servers)); return v }
	most := func(i int) []float64 { _, v := d.Series[i].memoryRange(len(d.Runs[i].Machines.Servers)); return v }
	aliveMemory := func(i int) []float64 { v, _ := d.Series[i].alive("AVG-VMRSS-MB"); return v }
	mean := func(*Series) merge { return meanOf }
	return []figure.Figure{
		d.keyFigure(keyPlot{name: "AVG-LATENCY-MS-BY-KEY", what: "Latency", y: latency, value: pick("AVG-LATENCY-MS"), merge: (*Series).meanRequest}),
		d.keyFigure(keyPlot{name: "AVG-LATENCY-MS-BY-KEY-ERROR-POINTS", what: "Latency, shortest to longest,", y: latency, value: pick("AVG-LATENCY-MS"), merge: (*Series).meanRequest,
			low: pick("MIN-LATENCY-MS"), high: pick("MAX-LATENCY-MS"), band: "shortest to longest since the point before"}),
		d.keyFigure(keyPlot{name: "AVG-VMRSS-MB-BY-KEY", what: "Memory", y: memory, value: aliveMemory, merge: mean}),
		d.keyFigure(keyPlot{name: "AVG-VMRSS-MB-BY-KEY-ERROR-POINTS", what: "Memory, least to most of the members,", y: memory, value: aliveMemory, merge: mean,
			low: least, high: most, band: "least to most of the members"}),
		d.keyFigure(keyPlot{name: "AVG-READ-BYTES-NUM-DELTA-BY-KEY", what: "Disk reads",
			y: figure.Axis{Label: "Disk reads", Unit: "bytes/s"}, value: pick("AVG-READ-BYTES-NUM-DELTA"), merge: (*Series).meanInside, rate: true}),
		d.keyFigure(keyPlot{name: "AVG-WRITE-BYTES-NUM-DELTA-BY-KEY", what: "Disk writes",
			y: figure.Axis{Label: "Disk writes", Unit: "bytes/s"}, value: pick("AVG-WRITE-BYTES-NUM-DELTA"), merge: (*Series).meanInside, rate: true}),
	}
}

// keyPlot is a quantity by key count. Its functions return the values in the i-th run by second;
// low and high may be nil.
type keyPlot struct {
	name, what       string
	y                figure.Axis
	value, low, high func(i int) []float64
	merge            func(*Series) merge // for value
	band             string
	rate             bool // averages over seconds, pale in rows outside the steps
}

func (d *Data) keyFigure(p keyPlot) figure.Figure {
	f := figure.Figure{
		Name: p.name, Short: p.what + " by " + strings.ToLower(d.counted()), Kind: figure.Lines, Band: p.band,
		X: figure.Axis{Label: "Cumulative Number of " + d.counted()}, Y: p.y,
	}
	d.add(&f, sameX, func(i int, s figure.Series) []figure.Series {
		rows := d.Series[i].byKey()
		for _, row := range rows {
			s.X = append(s.X, row.keys)
		}
		s.Y = at(rows, p.value(i), p.merge(d.Series[i]))
		if p.low != nil {
			s.Low, s.High = at(rows, p.low(i), leastOf), at(rows, p.high(i), mostOf)
		}
		for _, row := range rows {
			s.Partial = append(s.Partial, p.rate && !slices.Contains(d.Series[i].inside[row.first:row.last+1], true))
		}
		d.markFailed(&f, d.Runs[i], d.Series[i], rows)
		return []figure.Series{s}
	})
	if p.band != "" && d.repeated() {
		f.Band += ", of all trials"
	}
	notePartial(&f)
	return f
}

// markFailed marks rows before which requests failed or had an unknown outcome. Such requests have
// no latency.
func (d *Data) markFailed(f *figure.Figure, r *run.Run, s *Series, rows []keyRow) {
	lost := map[int64]float64{}
	for _, second := range r.Load.PerSecond() {
		lost[second.Unix] = second.Failed + second.Unknown
	}
	key := 0
	if len(d.groups()) > 1 {
		key = d.lookOf(r).key
	}
	for _, row := range rows {
		n := 0.0
		for i := row.first; i <= row.last; i++ {
			n += lost[s.Unix[i]]
			delete(lost, s.Unix[i]) // if the second has several rows, only the first is marked
		}
		if n > 0 {
			f.Events = append(f.Events, figure.Event{X: row.keys, Kind: "requests failed or with an unknown outcome", Key: key, N: n, Panel: d.place(r)})
		}
	}
}

// at returns the values of a quantity in the seconds of the rows.
func at(rows []keyRow, values []float64, merge merge) []float64 {
	out := make([]float64, len(rows))
	for i, row := range rows {
		out[i] = merge(values, row)
	}
	return out
}
