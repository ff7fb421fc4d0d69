package chart

import (
	"cmp"
	"slices"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
)

// look is how every figure in a report draws one group of repeated runs. The colour belongs to the
// database's family, the shade and the marker to the runs.
type look struct{ key, variant, marker int }

// lookOf returns a run's look.
func (d *Data) lookOf(r *run.Run) look {
	keys, members := map[string]int{}, map[string]int{}
	at := d.place(r)
	for i, g := range d.groups() {
		family := cmp.Or(g.Runs[0].Info.Record.Database, g.Name)
		if keys[family] == 0 {
			keys[family] = len(keys) + 1
		}
		if i == at {
			return look{keys[family], members[family], i + 1}
		}
		members[family]++
	}
	return look{1, 0, 1}
}

// place returns the index of the group with a run, which is also its panel in figures with panels.
func (d *Data) place(r *run.Run) int {
	return max(slices.IndexFunc(d.groups(), func(g trials.Group) bool { return slices.Contains(g.Runs, r) }), 0)
}

// part returns an empty series for the i-th part of a run, in a figure about that run alone.
func (d *Data) part(r *run.Run, name string, i int) figure.Series {
	return figure.Series{Name: name, Key: d.lookOf(r).key, Variant: i, Marker: i + 1}
}

// line returns an empty series for a run.
func (d *Data) line(r *run.Run) figure.Series {
	l := d.lookOf(r)
	return figure.Series{Name: r.Info.Name(), Key: l.key, Variant: l.variant, Marker: l.marker, Panel: d.place(r)}
}

// together returns an empty series for all trials of a database.
func (d *Data) together(g trials.Group) figure.Series {
	s := d.line(g.Runs[0])
	s.Name = g.Title()
	return s
}
