package chart

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
)

// clientFigures show quantities by client count, for loads with several counts whose clients sent
// at full speed.
func clientFigures(d *Data) []figure.Figure {
	if !slices.ContainsFunc(d.Runs, byClientsOnly) {
		return nil
	}
	plain := func(*figure.Series) {}
	largest := func(s *figure.Series) { s.Name, s.Dash, s.Thin = s.Name+", largest member", figure.Dashed, true }
	all := []figure.Figure{
		d.clientFigure("AVG-THROUGHPUT", figure.Axis{Label: "Throughput", Unit: "requests/s"}, variant{"AVG-THROUGHPUT", plain}),
		d.clientFigure("AVG-LATENCY-MS", figure.Axis{Label: "Latency", Unit: "ms"}, variant{"AVG-LATENCY-MS", plain}),
		d.clientFigure("AVG-CPU", figure.Axis{Label: "CPU", Unit: "%"}, variant{"AVG-CPU", plain}, variant{"MAX-CPU", largest}),
		d.clientFigure("AVG-WRITE-BYTES-NUM-DELTA", figure.Axis{Label: "Disk writes", Unit: "bytes/s"}, variant{"AVG-WRITE-BYTES-NUM-DELTA", plain}),
	}
	all = append(all, d.percentileByClients())
	return slices.DeleteFunc(all, func(f figure.Figure) bool { return len(f.Series) == 0 })
}

// percentileByClients is the 99th latency percentile by client count, from the histograms of all
// requests with that count.
func (d *Data) percentileByClients() figure.Figure {
	f := figure.Figure{
		Name: "P99-BY-CLIENTS", Short: "99th percentile of latency by clients", Kind: figure.Points,
		X: figure.Axis{Label: "Concurrent Clients", Log: true}, Y: figure.Axis{Label: "Latency, 99th percentile", Unit: "ms", Log: true},
	}
	d.add(&f, sameX, func(i int, s figure.Series) []figure.Series {
		r := d.Runs[i]
		if r.Rated() || r.PooledStages {
			return nil
		}
		known := false
		for _, g := range r.ByClients() {
			p99 := tailOf(r.Stages, g.Clients)
			known = known || !math.IsNaN(p99)
			s.X, s.Y = append(s.X, float64(g.Clients)), append(s.Y, p99)
		}
		if !known {
			return nil
		}
		return []figure.Series{s}
	})
	return f
}

// variant is a column in the series, and how its line differs from the main one.
type variant struct {
	column string
	style  func(*figure.Series)
}

// byClientsOnly reports whether the steps in a run differ only in the client count. If requests
// were due at a rate, throughput would merely show the requested rate.
func byClientsOnly(r *run.Run) bool { return r.Load.Stepped() && !r.Rated() }

// clientFigure draws the true means in columns by client count.
func (d *Data) clientFigure(name string, y figure.Axis, columns ...variant) figure.Figure {
	f := figure.Figure{
		Name: name + "-BY-CLIENTS", Short: y.Label + " by clients", Kind: figure.Points,
		X: figure.Axis{Label: "Concurrent Clients", Log: true}, Y: y,
	}
	var rated []string
	d.add(&f, sameX, func(i int, empty figure.Series) (lines []figure.Series) {
		r := d.Runs[i]
		if r.Rated() {
			rated = append(rated, r.Info.Name())
			return nil
		}
		for _, c := range columns {
			s := empty
			c.style(&s)
			for _, g := range r.ByClients() {
				s.X = append(s.X, float64(g.Clients))
				s.Y = append(s.Y, value(g, d.Series[i], c.column))
			}
			if slices.ContainsFunc(s.Y, func(v float64) bool { return !math.IsNaN(v) }) {
				lines = append(lines, s)
			}
		}
		return lines
	})
	if len(rated) > 0 {
		f.Notes = append(f.Notes, "left out, because the steps set the rate of requests: "+strings.Join(rated, ", "))
	}
	return f
}

// tailOf is the 99th percentile over the stages with a client count, without those on the way back;
// NaN if unknown.
func tailOf(stages []*run.Stage, clients int) float64 {
	var all []*run.Distribution
	for _, g := range stages {
		if g.Clients == clients && !g.Down && g.Latency.Due != nil {
			all = append(all, g.Latency.Due)
		}
	}
	if len(all) == 0 {
		return math.NaN()
	}
	d := all[0]
	if len(all) > 1 {
		d = run.Pooled(all)
	}
	return pointOf(d.Quantile(.99))
}

// pointOf returns a value that can be drawn: NaN for bounds and text.
func pointOf(m run.Measure) float64 {
	if !m.Known() || m.AtLeast() || m.Words != "" {
		return math.NaN()
	}
	return m.Value
}

// kneeFigures plot the 99th latency percentile against throughput, with one point per stage. The
// line turns upwards where more clients or a higher rate only increase latency.
func kneeFigures(d *Data) []figure.Figure {
	f := figure.Figure{
		Name: "P99-BY-THROUGHPUT", Short: "99th percentile of latency by throughput", Kind: figure.Points,
		Subtitle: "A point for each part of the load",
		X:        figure.Axis{Label: "Throughput", Unit: "requests/s", Min: new(float64)}, Y: figure.Axis{Label: "Latency, 99th percentile", Unit: "ms", Log: true},
	}
	// A number without its noun leaves room for neighbouring labels.
	label := func(g *run.Stage) string { return g.Label }
	if !slices.ContainsFunc(d.Runs, func(r *run.Run) bool {
		return slices.ContainsFunc(r.Stages, func(g *run.Stage) bool { return g.Label != run.ClientsText(g.Clients) })
	}) {
		label = func(g *run.Stage) string { return strconv.Itoa(g.Clients) }
		f.Subtitle = "A point for each number of clients"
	}
	d.add(&f, sameOrder, func(i int, empty figure.Series) []figure.Series {
		up, down, rated := empty, empty, empty
		down.Name, down.Dash, down.Thin = down.Name+", down again", figure.Dashed, true
		// Performance at full speed and performance at a rate are separate questions, so no line
		// joins the two.
		if rated.Name += ", at a rate"; !d.Runs[i].Closed() {
			rated.Name = empty.Name
		}
		for _, g := range d.Runs[i].Stages {
			p99, throughput := g.Latency.Due.Quantile(.99), g.Throughput.Average
			if !p99.Known() || p99.AtLeast() || p99.Words != "" || !throughput.Known() {
				continue
			}
			s, text := &up, label(g)
			if g.Down { // the values on the line belong to the way up
				s, text = &down, ""
				up.Marker, rated.Marker, down.Marker = upMarker, upMarker, downMarker
			} else if g.Latency.Rated() {
				s = &rated
			}
			s.X, s.Y, s.Labels = append(s.X, throughput.Value), append(s.Y, p99.Value), append(s.Labels, text)
		}
		if len(up.X)+len(rated.X) < 2 {
			return nil
		}
		return slices.DeleteFunc([]figure.Series{up, rated, down}, func(s figure.Series) bool { return len(s.X) == 0 })
	})
	if len(f.Series) == 0 {
		return nil
	}
	return []figure.Figure{f}
}
