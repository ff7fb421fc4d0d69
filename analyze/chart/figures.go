// Package chart turns runs into time series and figures. Figures are data of package
// figure, which draws them.
package chart

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

// Figures returns all figures in the order of the report's pages: those that answer which
// database is better first, then those that explain it. To add one, write its function in
// a file of its own, and add it to the list.
func (d *Data) Figures() (all []figure.Figure) {
	for _, figures := range []func(*Data) []figure.Figure{
		clientFigures,
		kneeFigures,
		boxFigures,
		percentileFigures,
		requestFigures,
		failureFigures,
		heatFigures,
		keyFigures,
		networkFigures,
		backlogFigures,
		partFigures,
		machineFigures,
		memberFigures,
		fsyncFigures,
	} {
		all = append(all, figures(d)...)
	}
	notes := d.notes()
	for i := range all {
		shorten(&all[i])
		all[i].Notes = append(all[i].Notes, notes...)
	}
	return all
}

// notes returns the marks, which every figure carries.
func (d *Data) notes() []string {
	var invalid, notes run.PerTag
	for _, m := range d.Marks {
		switch {
		case m.Invalid:
			invalid.Add(m.Tag, run.Mark{Mark: m.Mark}.String())
		case m.Code != results.MarkGap && m.Code != results.MarkNotUploaded: // no word on the numbers
			notes.Add(m.Tag, m.Code)
		}
	}
	for _, r := range d.Runs {
		marked := slices.ContainsFunc(d.Marks, func(m run.Mark) bool { return m.Code == results.MarkSharedHost && (m.Tag == r.Info.Tag || m.Tag == "") })
		if text, _ := r.SharedHost(); text != "" && !marked {
			notes.Add(r.Info.Tag, "host "+text)
		}
	}
	return append(invalid.Lines(), notes.Joined()...)
}

// Describe describes a figure to a reader who cannot see it.
func Describe(f figure.Figure) string {
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
