package chart

import (
	"cmp"
	"slices"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
)

// look is how every figure of a report draws a run: the colour belongs to the family of
// its database, the shade and the marker to the run.
type look struct{ key, variant, marker int }

// looks returns the look of each run, in their order.
func (d *Data) looks() []look {
	keys, members := map[string]int{}, map[string]int{}
	out := make([]look, len(d.Runs))
	for i, r := range d.Runs {
		family := cmp.Or(r.Info.Record.Database, r.Info.Tag)
		if keys[family] == 0 {
			keys[family] = len(keys) + 1
		}
		out[i] = look{keys[family], members[family], i + 1}
		members[family]++
	}
	return out
}

// place returns the index of a run, which is its panel in small multiples.
func (d *Data) place(r *run.Run) int { return max(slices.Index(d.Runs, r), 0) }

// lookOf returns the look of one run.
func (d *Data) lookOf(r *run.Run) look {
	return d.looks()[d.place(r)]
}

// part returns an empty series of the i-th part of a run, in a figure of that run alone.
func (d *Data) part(r *run.Run, name string, i int) figure.Series {
	return figure.Series{Name: name, Key: d.lookOf(r).key, Variant: i, Marker: i + 1}
}

// line returns an empty series of a run.
func (d *Data) line(r *run.Run) figure.Series {
	l := d.lookOf(r)
	return figure.Series{Name: r.Info.Name(), Key: l.key, Variant: l.variant, Marker: l.marker, Panel: d.place(r)}
}
