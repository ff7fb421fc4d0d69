package figure

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

const (
	markerRadius = vg.Length(3.6)
	// looseRadius is the radius for markers without a line.
	looseRadius = vg.Length(2.7)
	// markerSpacing is the distance between markers on lines with many points.
	markerSpacing = vg.Length(80)
	// fewPoints is the point count up to which every point gets a marker.
	fewPoints = 16
)

// stroke is the line for a series. Dense lines are lighter, or noise would turn into a solid area.
func (s Series) stroke(pointsPerLength float64) stroke {
	width := vg.Length(2)
	switch {
	case pointsPerLength > 2:
		width = 0.8
	case pointsPerLength > 0.5:
		width = 1.3
	}
	if s.Thin {
		width *= 0.6
	}
	line := stroke{color: s.look().color, width: width}
	if s.Dash == Dashed {
		line.dashes = []vg.Length{7, 4}
	}
	return line
}

func dots() []vg.Length { return []vg.Length{1.8, 2.6} }

// run is a piece of a line without gaps.
type run struct {
	points []vg.Point
	// uncertain and partial are as long as points.
	uncertain, partial []bool
}

// runs splits a series at its gaps.
func (a *plane) runs(s Series) []run {
	var all []run
	open := false
	for i := range s.X {
		if !a.x.has(s.X[i]) || !a.y.has(s.Y[i]) {
			open = false
			continue
		}
		if !open {
			all = append(all, run{})
			open = true
		}
		r := &all[len(all)-1]
		r.points = append(r.points, vg.Point{X: a.horizontal(s.X[i]), Y: a.vertical(s.Y[i])})
		r.uncertain = append(r.uncertain, s.Uncertain != nil && s.Uncertain[i])
		r.partial = append(r.partial, s.Partial != nil && s.Partial[i])
	}
	return all
}

// curves are the series in a figure of any kind except Bars.
type curves struct {
	Figure
	plot plane
}

// draw draws all bands, then all lines, then all markers, so that no series hides another.
func (c *curves) draw(d pen) {
	runs := make([][]run, len(c.Series))
	for i, s := range c.Series {
		runs[i] = c.plot.runs(s)
		c.plot.drawBand(d, s)
	}
	for i, s := range c.Series {
		points := 0
		for _, r := range runs[i] {
			points += len(r.points)
		}
		line := s.stroke(float64(points) / float64(c.plot.width()))
		if s.Loose {
			continue
		}
		for _, r := range runs[i] {
			c.drawRun(d, line, r)
		}
	}
	for i, s := range c.Series {
		c.drawMarkers(d, s, runs[i])
	}
	for _, s := range c.Series {
		c.drawLabels(d, s)
	}
}

// drawLabels sets labels to the upper right of their points. A loose series shows only the label at
// its highest point, because it has many.
func (c *curves) drawLabels(d pen, s Series) {
	small := typeface{size: 11, color: dark(s.look().color)}
	highest := math.Inf(-1)
	for _, y := range s.Y {
		highest = max(highest, y)
	}
	for i, text := range s.Labels {
		if s.Loose && s.Y[i] < highest || !c.plot.x.has(s.X[i]) || !c.plot.y.has(s.Y[i]) {
			continue
		}
		at := vg.Point{X: c.plot.horizontal(s.X[i]), Y: c.plot.vertical(s.Y[i])}
		if c.plot.contains(at) {
			x := min(at.X+markerRadius+2, c.plot.right-small.width(printable(text)))
			d.text(small, x, min(at.Y+markerRadius, c.plot.top-small.size), fromLeft, text)
		}
	}
}

// drawRun draws one run, with uncertain pieces dotted and partial ones pale.
func (c *curves) drawRun(d pen, line stroke, r run) {
	// whether the piece that begins at point i is uncertain
	doubts := func(i int) bool { return r.uncertain[i] || r.uncertain[i+1] }
	partial := func(i int) bool { return r.partial[i] || r.partial[i+1] }
	for first := 0; first+1 < len(r.points); {
		last := first + 1
		for last+1 < len(r.points) && doubts(last) == doubts(first) && partial(last) == partial(first) {
			last++
		}
		points := r.points[first : last+1]
		if c.Kind == Stairs {
			points = stairs(points)
		}
		style := line
		if doubts(first) {
			style.dashes = dots()
		}
		if partial(first) {
			style.color = pale(line.color)
		}
		for _, piece := range c.plot.clip(thinned(points)) {
			if c.Kind == Heat { // a rim separates the line from the cells
				d.line(stroke{color: paper, width: style.width + 1.6}, piece...)
			}
			d.line(style, piece...)
		}
		first = last
	}
}

// stairs holds the height of each point until the next.
func stairs(points []vg.Point) []vg.Point {
	var held []vg.Point
	for i, at := range points {
		if i > 0 {
			held = append(held, vg.Point{X: at.X, Y: points[i-1].Y})
		}
		held = append(held, at)
	}
	return held
}

// thinned reduces the points in each column of unit width to the first, the lowest, the highest and
// the last. The picture looks the same, but its size no longer grows with the length of the run.
func thinned(points []vg.Point) []vg.Point {
	var kept []vg.Point
	for first := 0; first < len(points); {
		column := math.Floor(float64(points[first].X))
		low, high, last := first, first, first
		for last+1 < len(points) && math.Floor(float64(points[last+1].X)) == column {
			last++
			if points[last].Y < points[low].Y {
				low = last
			}
			if points[last].Y > points[high].Y {
				high = last
			}
		}
		previous := -1
		for _, i := range []int{first, min(low, high), max(low, high), last} {
			if i != previous {
				kept = append(kept, points[i])
			}
			previous = i
		}
		first = last + 1
	}
	return kept
}

// drawMarkers marks lone points, all points if there are few, and otherwise one point at regular
// distances that differ between databases.
func (c *curves) drawMarkers(d pen, s Series, runs []run) {
	points := 0
	for _, r := range runs {
		points += len(r.points)
	}
	all := c.Kind == Points || s.Loose || points <= fewPoints
	radius := markerRadius
	if s.Loose {
		radius = looseRadius
	}
	shift := vg.Length((s.look().shape-1)%shapes) / shapes * markerSpacing
	for _, r := range runs {
		if c.Kind == Heat {
			c.drawLone(d, s, r)
			continue
		}
		chosen := r.typical(c.plot.left + shift)
		for i, at := range r.points {
			if (all || len(r.points) == 1 || slices.Contains(chosen, i)) && c.plot.contains(at) {
				l := s.look()
				if r.partial[i] {
					l.color = pale(l.color)
				}
				d.marker(l, radius, r.uncertain[i], at)
			}
		}
	}
}

// typical chooses a point per markerSpacing, starting at left. It prefers a nearby point at middle
// height, because a marker on an outlier is misleading, and falls back to the nearest.
func (r run) typical(left vg.Length) []int {
	const near = markerSpacing / 16
	slots := map[int][]int{}
	var order []int
	nearest := map[int]int{}
	for i, at := range r.points {
		slot := int(math.Floor(float64((at.X - left) / markerSpacing)))
		away := func(i int) vg.Length { return distance(r.points[i].X, left+vg.Length(float64(slot)+0.5)*markerSpacing) }
		if _, known := nearest[slot]; !known {
			order = append(order, slot)
			nearest[slot] = i
		}
		if away(i) < away(nearest[slot]) {
			nearest[slot] = i
		}
		if away(i) <= near {
			slots[slot] = append(slots[slot], i)
		}
	}
	var chosen []int
	for _, slot := range order {
		candidates := slots[slot]
		if len(candidates) == 0 {
			chosen = append(chosen, nearest[slot])
			continue
		}
		slices.SortFunc(candidates, func(a, b int) int {
			return cmp.Or(cmp.Compare(r.points[a].Y, r.points[b].Y), cmp.Compare(a, b))
		})
		chosen = append(chosen, candidates[len(candidates)/2])
	}
	return chosen
}

func distance(a, b vg.Length) vg.Length { return max(a-b, b-a) }

// drawLone draws a point between gaps, which has no line, as wide as its column.
func (c *curves) drawLone(d pen, s Series, r run) {
	if len(r.points) != 1 || !c.plot.contains(r.points[0]) {
		return
	}
	at := r.points[0]
	half := (c.plot.horizontal(c.Grid.X[1]) - c.plot.horizontal(c.Grid.X[0])) / 2
	ends := []vg.Point{{X: at.X - half, Y: at.Y}, {X: at.X + half, Y: at.Y}}
	for _, piece := range c.plot.clip(ends) {
		line := s.stroke(0)
		d.line(stroke{color: paper, width: line.width + 1.6}, piece...)
		d.line(line, piece...)
	}
}
