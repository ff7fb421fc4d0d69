package chart

import (
	"math"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/answers/curve"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/pkg/workload"
)

// Markers for the way up and the way back of a sweep: triangles pointing in that direction.
const (
	upMarker   = 3
	downMarker = 5
)

// sweepFigures show throughput and the 99th latency percentile over the swept key.
func sweepFigures(d *Data) (all []figure.Figure) {
	for i := range d.Sweeps {
		all = append(all, d.sweepFigure(&d.Sweeps[i]))
	}
	return all
}

// sweepFigure has one panel each for throughput and latency, with separate scales.
func (d *Data) sweepFigure(s *curve.Sweep) figure.Figure {
	latency, throughput := figure.Axis{Label: "p99", Unit: "ms", Log: true}, figure.Axis{Label: "Throughput", Unit: "requests/s"}
	f := figure.Figure{
		Name: "SWEEP-" + strings.ToUpper(string(s.Key)), Short: "Throughput and latency " + strings.ToLower(s.Title()), Kind: figure.Points,
		X: sweepAxis(s), Y: throughput,
		Panels: []string{"Throughput", "Latency, 99th percentile"}, PanelY: []figure.Axis{throughput, latency},
	}
	zero := placeOfZero(s)
	several := false
	for _, c := range s.Curves {
		for panel, column := range []int{curve.Throughput, curve.P99} {
			up, down := d.line(c.First), d.line(c.First)
			up.Name, down.Name = c.Name, c.Name+", down again"
			down.Dash, down.Thin = figure.Dashed, true
			for i, p := range c.Points {
				x := p.Value
				if x == 0 {
					x = zero
				}
				if !p.Down {
					several = add(&up, x, p.Cells[column]) || several
					continue
				}
				if i > 0 && !c.Points[i-1].Down { // the way back begins at the top
					add(&down, c.Points[i-1].Value, c.Points[i-1].Cells[column])
				}
				several = add(&down, x, p.Cells[column]) || several
			}
			for _, line := range []*figure.Series{&up, &down} {
				line.Panel = panel
				if !slices.ContainsFunc(line.Low, func(v float64) bool { return !math.IsNaN(v) }) {
					line.Low, line.High = nil, nil
				}
			}
			if len(down.X) > 0 {
				up.Marker, down.Marker = upMarker, downMarker
				if panel == 0 && len(s.Curves) > 1 && len(up.X) > 0 {
					up.Labels = make([]string, len(up.X))
					up.Labels[len(up.X)-1] = c.Name
				}
			}
			for _, line := range []figure.Series{up, down} {
				if len(line.X) > 0 {
					f.Series = append(f.Series, line)
				}
			}
		}
	}
	if least := leastOnly(s); least != "" {
		f.Notes = append(f.Notes, "p99 is at least as drawn, because requests were not answered in time: "+least)
	}
	if several {
		f.Band = "bounds of the trials"
	}
	return f
}

// leastOnly lists the points whose latency has only a known lower bound.
func leastOnly(s *curve.Sweep) string {
	var of []string
	for _, c := range s.Curves {
		var points []string
		for _, p := range c.Points {
			if p.Cells[curve.P99].AtLeast {
				points = append(points, p.Name())
			}
		}
		if len(points) > 0 {
			of = append(of, c.Name+" at "+strings.Join(points, "; "))
		}
	}
	return strings.Join(of, "; ")
}

// add adds a point, and reports whether it has bounds.
func add(s *figure.Series, x float64, c curve.Cell) bool {
	value := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	s.X, s.Y = append(s.X, x), append(s.Y, value(c.Value))
	s.Low, s.High = append(s.Low, value(c.Low)), append(s.High, value(c.High))
	return c.Low != nil
}

// sweepAxis is logarithmic and labels every value.
func sweepAxis(s *curve.Sweep) figure.Axis {
	a := figure.Axis{Label: map[workload.SweepKey]string{
		workload.SweepRate: "Rate", workload.SweepClients: "Concurrent Clients", workload.SweepPreload: "Data before the Load", workload.SweepMembers: "Members",
	}[s.Key], Log: true, Names: map[float64]string{}}
	switch s.Key {
	case workload.SweepRate:
		a.Unit = "requests/s due"
	case workload.SweepPreload:
		a.Unit = s.Unit
	}
	for _, c := range s.Curves {
		for _, p := range c.Points {
			switch {
			case p.Value == 0:
				a.Names[placeOfZero(s)] = "0"
			case s.Key == workload.SweepPreload:
				a.Names[p.Value] = p.Text
			}
		}
	}
	return a
}

// placeOfZero is the position for zero on a logarithmic axis: one step left of the smallest value.
func placeOfZero(s *curve.Sweep) float64 {
	var values []float64
	for _, c := range s.Curves {
		for _, p := range c.Points {
			if p.Value > 0 {
				values = append(values, p.Value)
			}
		}
	}
	if len(values) == 0 {
		return 1
	}
	least, most := slices.Min(values), slices.Max(values)
	return least / max(2, min(most/least, 10))
}
