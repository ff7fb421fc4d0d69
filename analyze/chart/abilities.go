package chart

import (
	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/analyze/figure"
)

// abilityFigures are the figures that abilities add. leading names those that show an ability's
// effects; readers see them first.
func abilityFigures(d *Data) (out []figure.Figure, leading []string) {
	var columns []abilities.Column
	for _, g := range d.groups() {
		look := d.lookOf(g.Runs[0])
		columns = append(columns, abilities.Column{Name: g.Title(), Key: look.key, Variant: look.variant, Marker: look.marker, Panel: d.place(g.Runs[0]), Runs: g.Runs})
	}
	for _, half := range all.Halves() {
		if drawer, ok := half.(abilities.Drawer); ok {
			figures := drawer.Figures(columns)
			out = append(out, figures...)
			if _, acts := half.(abilities.Actor); acts {
				for _, f := range figures {
					leading = append(leading, f.Name)
				}
			}
		}
	}
	return out, leading
}
