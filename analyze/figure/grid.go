package figure

import (
	"errors"
	"fmt"
)

// Grid is a two-dimensional histogram: the data for Heat.
type Grid struct {
	// X and Y are the ascending edges between columns and rows; there is one more edge than columns
	// or rows.
	X, Y []float64
	// Counts holds the rows of each column. A cell with 0 is empty and stays white.
	Counts [][]float64
	// Of is the unit of the counts, such as "requests".
	Of string
	// Least and Most, if Most is not 0, are the counts for the lightest and the darkest shade.
	// Grids with equal values can be compared. By default they are the extremes in the grid.
	Least, Most float64
}

// check returns an error if g is not a valid grid.
func (g *Grid) check() error {
	if g == nil {
		return errors.New("a heat map has no grid")
	}
	for _, axis := range []struct {
		name  string
		edges []float64
	}{{"x", g.X}, {"y", g.Y}} {
		for i, e := range axis.edges {
			if !finite(e) || i > 0 && !apart(axis.edges[i-1], e) {
				return fmt.Errorf("the grid's %s edges do not ascend", axis.name)
			}
		}
	}
	if len(g.Counts) != max(len(g.X)-1, 0) {
		return fmt.Errorf("the grid has %d columns and %d edges", len(g.Counts), len(g.X))
	}
	for _, rows := range g.Counts {
		if len(rows) != max(len(g.Y)-1, 0) {
			return fmt.Errorf("the grid has %d rows and %d edges", len(rows), len(g.Y))
		}
		for _, n := range rows {
			if !finite(n) || n < 0 {
				return fmt.Errorf("the grid counts %v", n)
			}
		}
	}
	if !finite(g.Least) || !finite(g.Most) || g.Most != 0 && (g.Least <= 0 || g.Most < g.Least) {
		return fmt.Errorf("the grid's shades are from %v to %v", g.Least, g.Most)
	}
	return nil
}

// middle returns the x at the centre of a column.
func (g *Grid) middle(column int) float64 { return (g.X[column] + g.X[column+1]) / 2 }

// occupied returns the edges of all rows with counts.
func (g *Grid) occupied() []float64 {
	var edges []float64
	for _, rows := range g.Counts {
		for r, n := range rows {
			if n > 0 {
				edges = append(edges, g.Y[r], g.Y[r+1])
			}
		}
	}
	return edges
}

// Extent returns the smallest and the largest count over cells that are not empty; ok is false if
// all are empty.
func (g *Grid) Extent() (least, most float64, ok bool) {
	var counts []float64
	for _, rows := range g.Counts {
		counts = append(counts, rows...)
	}
	return span(func(n float64) bool { return n > 0 }, counts)
}

// extent returns the range that the shades cover; ok is false if every cell is empty.
func (g *Grid) extent() (least, most float64, ok bool) {
	least, most, ok = g.Extent()
	if g.Most != 0 {
		least, most = g.Least, g.Most
	}
	return least, most, ok
}
