// Package chart turns runs into time series and figures. A figure is data for package figure, which
// draws it.
package chart

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/mark"
)

// Figures returns all figures. The main figures come first, in page order: those that show which
// database is better, then those that explain why. To add a figure, write its function in a new
// file and add it to the list.
func (d *Data) Figures() (all []figure.Figure) {
	all, ofAbilities := abilityFigures(d)
	for _, figures := range []func(*Data) []figure.Figure{
		sweepFigures,
		clientFigures,
		kneeFigures,
		databaseFigures,
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
	notes := d.MarkNotes()
	for i := range all {
		d.apart(&all[i])
		all[i].Title = d.titled(all[i].Short)
		shorten(&all[i])
		all[i].Notes = append(all[i].Notes, notes...)
		clean(&all[i])
	}
	return ranked(all, ofAbilities)
}

// clean makes the texts in a figure safe to show, each on one line. Some come from files.
func clean(f *figure.Figure) {
	texts := []*string{&f.Title, &f.Short, &f.Subtitle, &f.Band, &f.X.Label, &f.X.Unit, &f.Y.Label, &f.Y.Unit}
	for _, list := range [][]string{f.Categories, f.Panels, f.Notes} {
		for i := range list {
			texts = append(texts, &list[i])
		}
	}
	for i := range f.Series {
		texts = append(texts, &f.Series[i].Name)
		for _, list := range [][]string{f.Series[i].Labels, f.Series[i].Details} {
			for n := range list {
				texts = append(texts, &list[n])
			}
		}
	}
	for i := range f.Steps {
		texts = append(texts, &f.Steps[i].Label)
	}
	for i := range f.Events {
		texts = append(texts, &f.Events[i].Kind)
	}
	for i := range f.Grey {
		texts = append(texts, &f.Grey[i].Text)
	}
	for _, text := range texts {
		*text = plaintext.Line(*text)
	}
}

// MarkNotes returns the marks that weaken the numbers. Every figure carries them. Marks that all
// trials of a database share are listed once.
func (d *Data) MarkNotes() (lines []string) {
	var invalid, notes run.PerTag
	groups := d.groups()
	names := trials.Names(groups)
	name := func(tag string) string { return cmp.Or(names[tag], tag) }
	for _, m := range d.Marks {
		switch {
		case m.Invalid:
			invalid.Add(name(m.Tag), run.Mark{Mark: m.Mark}.String())
		case m.Code != mark.Gap && m.Code != mark.NotUploaded && m.Code != mark.Expected: // these do not affect the numbers
			notes.Add(name(m.Tag), m.Code)
		}
	}
	for _, r := range d.Runs {
		marked := slices.ContainsFunc(d.Marks, func(m run.Mark) bool { return m.Code == mark.SharedHost && (m.Tag == r.Info.Tag || m.Tag == "") })
		if text, _ := r.SharedHost(); text != "" && !marked {
			notes.Add(name(r.Info.Tag), "host "+text)
		}
	}
	var all []string
	for _, g := range groups {
		all = append(all, g.Title())
	}
	for _, line := range append(invalid.Lines(), notes.Joined()...) {
		if rest, of := strings.CutPrefix(line, strings.Join(all, ", ")+": "); of && len(all) > 1 {
			line = "all: " + rest
		}
		lines = append(lines, plaintext.Line(line))
	}
	return lines
}

// Describe describes a figure to a reader who cannot see it. Series with one name, such as those
// for repeats, are named once.
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
		text += ": " + strings.Join(run.Distinct(names), "; ")
	}
	return text
}
