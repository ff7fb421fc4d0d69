package config

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// plotSection declares plot keys.
func plotSection() section[Plot] {
	return section[Plot]{
		Fields: []field[Plot]{
			key[Plot, string]{
				Row:  row{Name: "column", Usually: "required", Meaning: "column in a database's per-second table"},
				Kind: yamlfile.TextKind(), At: func(p *Plot) *string { return &p.Column },
			}.Field(),
			key[Plot, string]{
				Row:  row{Name: "x_axis", Preset: "Second", Meaning: "horizontal axis title"},
				Kind: yamlfile.TextKind(), At: func(p *Plot) *string { return &p.XAxis },
			}.Field(),
			key[Plot, string]{
				Row:  row{Name: "y_axis", Usually: "the classic report's, else the column", Meaning: "vertical axis title"},
				Kind: yamlfile.TextKind(), At: func(p *Plot) *string { return &p.YAxis },
			}.Field(),
		},
		Check: func(r *yamlfile.Reader, w *written[Plot]) {
			if !w.Has("column") {
				r.Errorf(w.Node, "plot: column is missing")
			}
		},
	}
}

// plotKind is a column, or a mapping of a column and axis titles.
func plotKind() kind[Plot] {
	section := plotSection()
	return kind[Plot]{
		Parse: func(r *yamlfile.Reader, key string, node *yamlfile.Node) (Plot, bool) {
			w := section.None()
			if yamlfile.IsMapping(node) {
				w = section.Read(r, "", "plot", node)
			} else if column, ok := yamlfile.Text(r, key, node); ok {
				w.Is.Column = column
				w.Give("column", yamlfile.Place{Key: key, At: node})
			}
			if !w.Has("column") {
				return Plot{}, false
			}
			p := checkColumn(r, section.Filled(w), w.NodeOf("column"))
			if !w.Has("y_axis") {
				p.YAxis = yAxis(p.Column)
			}
			return p, true
		},
		Node:   func(p Plot) *yamlfile.Node { return section.Show(&p).Flow() },
		Nested: func() schema { return schema{"anyOf": []schema{{"type": "string"}, section.Schema()}} },
	}
}

// checkColumn warns about a plotted column, which is at a node, and replaces a renamed one.
func checkColumn(r *yamlfile.Reader, p Plot, at *yamlfile.Node) Plot {
	if real, ok := renamedColumns()[p.Column]; ok {
		r.Warnf(at, "column: %q is read as %q", p.Column, real)
		p.Column = real
	}
	if !knownColumn(p.Column) {
		near := ""
		if n := yamlfile.Nearest(p.Column, columns()); n != "" {
			near = " (did you mean \"" + n + "\"?)"
		}
		r.Warnf(at, "column: %q is not a column of every report%s", p.Column, near)
	}
	return p
}

// yAxis returns the default axis title for a column.
func yAxis(column string) string {
	for _, d := range DefaultPlots() {
		if d.Column == column {
			return d.YAxis
		}
	}
	return column
}

// renamedColumns maps columns in classic files that never existed to the intended
// columns.
func renamedColumns() map[string]string {
	return map[string]string{
		"AVG-READ-BYTES-DELTA":     "AVG-READ-BYTES-NUM-DELTA",
		"AVG-WRITE-BYTES-DELTA":    "AVG-WRITE-BYTES-NUM-DELTA",
		"AVG-RECEIVE-BYTES-DELTA":  "AVG-RECEIVE-BYTES-NUM-DELTA",
		"AVG-TRANSMIT-BYTES-DELTA": "AVG-TRANSMIT-BYTES-NUM-DELTA",
	}
}

// knownColumn reports whether reports always have a column. Columns for a single server end in its
// number.
func knownColumn(column string) bool {
	if slices.Contains(columns(), column) {
		return true
	}
	i := strings.LastIndexByte(column, '-')
	return i > 0 && i+1 < len(column) && strings.Trim(column[i+1:], "0123456789") == ""
}

// columns returns the columns in the per-second table that concern all servers.
func columns() []string {
	names := strings.Fields(`
		UNIX-SECOND SECOND CONTROL-CLIENT-NUM
		MIN-LATENCY-MS AVG-LATENCY-MS MAX-LATENCY-MS AVG-THROUGHPUT CUMULATIVE-THROUGHPUT`)
	for _, s := range metric.AllSeries() {
		names = append(names, s.Column)
	}
	return names
}

// DefaultPlots returns the fifteen time plots in classic reports: two for the clients, and one for
// each metric series with an axis.
func DefaultPlots() []Plot {
	plots := []Plot{
		{Column: "AVG-LATENCY-MS", YAxis: "Latency(millisecond)"},
		{Column: "AVG-THROUGHPUT", YAxis: "Throughput(Requests/Second)"},
	}
	for _, s := range metric.AllSeries() {
		if s.Axis != "" {
			plots = append(plots, Plot{Column: s.Column, YAxis: s.Axis})
		}
	}
	for i := range plots {
		plots[i].XAxis = "Second"
	}
	return plots
}
