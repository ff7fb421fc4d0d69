package analyze

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/pkg/config"
)

// figures are all figures of the report, in the order of its pages.
func (d *document) figures() []figure.Figure {
	var out []figure.Figure
	for _, p := range d.plots {
		out = append(out, d.timeFigure(p))
	}
	out = append(out, d.keyFigures()...)
	if f := d.percentileFigure(); len(f.Series) > 0 {
		out = append(out, f)
	}
	out = append(out, d.partFigures()...)
	out = append(out, d.heatFigures()...)
	if f := d.backlogFigure(); len(f.Series) > 0 {
		out = append(out, f)
	}
	if d.stepped() {
		out = append(out,
			d.clientFigure("AVG-THROUGHPUT", figure.Axis{Label: "Throughput", Unit: "Requests/Second"}),
			d.clientFigure("AVG-LATENCY-MS", figure.Axis{Label: "Latency", Unit: "millisecond"}))
	}
	out = append(out, d.networkFigure())
	for i := range out {
		out[i].Notes = append(out[i].Notes, d.figureNotes()...)
	}
	return out
}

// title is a figure's, as the classic ones: the experiment, then the quantity.
func (d *document) title(what string) string {
	if d.Title == "" {
		return what
	}
	return d.Title + ", " + what
}

// line is an empty series of a column: its colour tells the database, its dash
// the run.
func line(c *column) figure.Series {
	return figure.Series{Name: c.tag, Key: c.key, Dash: figure.Dash(c.repeat % 3)}
}

// timeFigure is a quantity by the second since the load began.
func (d *document) timeFigure(p config.Plot) figure.Figure {
	f := figure.Figure{
		Name: p.Column, Title: d.title(axisOf(p).Label), Kind: figure.Lines,
		X: figure.Axis{Label: p.XAxis}, Y: axisOf(p),
	}
	partial := false
	for i, c := range d.columns {
		s := line(c)
		values := d.series[i].column(p.Column)
		if values == nil {
			continue
		}
		start := c.loadStart()
		for n, unix := range d.series[i].unix {
			s.X = append(s.X, float64(unix-start))
			s.Y = append(s.Y, values[n])
			s.Uncertain = append(s.Uncertain, p.Column == "AVG-THROUGHPUT" && !c.whole(unix))
		}
		partial = partial || slices.Contains(s.Uncertain, true)
		f.Series = append(f.Series, s)
	}
	f.Steps = d.boundaries()
	if partial {
		f.Notes = append(f.Notes, "dotted: seconds that do not lie wholly inside a step")
	}
	return f
}

// axisOf splits a classic axis such as "Latency(millisecond)" into what and
// unit. Bytes per second get binary ticks.
func axisOf(p config.Plot) figure.Axis {
	label, unit := p.YAxis, ""
	if open := strings.LastIndex(label, "("); open > 0 && strings.HasSuffix(label, ")") {
		label, unit = strings.TrimSpace(label[:open]), strings.TrimSuffix(label[open+1:], ")")
	}
	if strings.Contains(p.Column, "BYTES") && strings.HasSuffix(p.Column, "-DELTA") {
		label, unit = strings.TrimSuffix(label, "(bytes)"), "bytes/s"
	}
	return figure.Axis{Label: label, Unit: unit}
}

// counted is what cumulative counts are of: a mixed load does not write a key
// with every request.
func (d *document) counted() string {
	if slices.ContainsFunc(d.columns, (*column).mixed) {
		return "Requests"
	}
	return "Keys"
}

// keyFigures are the classic figures over the number of keys.
func (d *document) keyFigures() []figure.Figure {
	latency := figure.Axis{Label: "Latency", Unit: "millisecond"}
	memory := figure.Axis{Label: "Memory", Unit: "MB"}
	pick := func(name string) func(int) []float64 {
		return func(i int) []float64 { return d.series[i].column(name) }
	}
	least := func(i int) []float64 { v, _ := d.series[i].memoryRange(len(d.columns[i].servers)); return v }
	most := func(i int) []float64 { _, v := d.series[i].memoryRange(len(d.columns[i].servers)); return v }
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

func (d *document) keyFigure(name, what string, y figure.Axis, value, low, high func(int) []float64, band string) figure.Figure {
	f := figure.Figure{
		Name: name, Title: d.title(what + " by " + d.counted()), Kind: figure.Lines, Band: band,
		X: figure.Axis{Label: "Cumulative Number of " + d.counted()}, Y: y,
	}
	for i, c := range d.columns {
		s := line(c)
		rows := d.series[i].byKey()
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

// at picks a quantity's values of the seconds of the rows.
func at(rows []keyRow, values []float64) []float64 {
	out := make([]float64, len(rows))
	for i, row := range rows {
		out[i] = values[row.second]
	}
	return out
}

// stepped reports whether any load had several numbers of clients.
func (d *document) stepped() bool {
	return slices.ContainsFunc(d.columns, (*column).stepped)
}

// clientFigure is a quantity's true mean by the number of clients.
func (d *document) clientFigure(name string, y figure.Axis) figure.Figure {
	f := figure.Figure{
		Name: name + "-BY-CLIENTS", Title: d.title(y.Label + " by Clients"), Kind: figure.Points,
		X: figure.Axis{Label: "Concurrent Clients"}, Y: y,
	}
	for i, c := range d.columns {
		s := line(c)
		for _, g := range c.byClients() {
			s.X = append(s.X, float64(g.clients))
			s.Y = append(s.Y, g.value(d.series[i], name))
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// figureNotes are the marks that every figure carries.
func (d *document) figureNotes() []string {
	var invalid, notes remarks
	for _, m := range d.Marks {
		switch {
		case m.Invalid:
			invalid.add(m.Tag, Mark{Mark: m.Mark}.String())
		case m.Code != "gap":
			notes.add(m.Tag, m.Code)
		}
	}
	for _, c := range d.columns {
		marked := slices.ContainsFunc(d.Marks, func(m Mark) bool { return m.Code == "shared host" && (m.Tag == c.tag || m.Tag == "") })
		if text, _ := c.sharedHost(); text != "" && !marked {
			notes.add(c.tag, "host "+text)
		}
	}
	return append(invalid.lines(), notes.joined()...)
}

// describe says what a figure shows to who cannot see it.
func describe(f figure.Figure) string {
	var names []string
	for _, s := range f.Series {
		names = append(names, s.Name)
	}
	text := f.Title
	if f.Subtitle != "" {
		text += ". " + f.Subtitle
	}
	if len(names) > 0 {
		text += ": " + strings.Join(names, "; ")
	}
	return text
}
