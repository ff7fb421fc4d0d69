package analyze

import (
	"slices"

	"github.com/coreos/dbtester/analyze/chart"
	"github.com/coreos/dbtester/analyze/publish/page"
)

// writeHTML writes the report as one self-contained page.
func (d *document) writeHTML() error {
	p := page.Page{Title: d.Title, Description: d.Description, Valid: d.Valid(), Headline: d.Headline, Table: d.Shown, Commands: d.commands()}
	marks := d.charts.MarkNotes()
	for _, f := range d.drawn {
		// The page has the marks at its top.
		f.Notes = slices.DeleteFunc(slices.Clone(f.Notes), func(note string) bool { return slices.Contains(marks, note) })
		if !d.Valid() {
			f.Notes = append(f.Notes, "not valid: see the reasons that weaken the numbers")
		}
		p.Figures = append(p.Figures, page.Figure{Figure: f, Alt: chart.Describe(f), CSV: d.out.link(d.out.table(f)), Picture: d.out.link(d.out.picture(f))})
	}
	for _, e := range d.failures {
		one := page.Errors{Of: e.Tag}
		for _, kind := range e.Errors {
			one.Kinds = append(one.Kinds, page.ErrorKind{Class: kind.Class, Count: kind.Count, First: kind.First, Messages: kind.lines()[1:]})
		}
		p.Errors = append(p.Errors, one)
	}
	for _, s := range d.logEvents {
		one := page.Said{Of: s.Of}
		for _, l := range s.Lines {
			one.Lines = append(one.Lines, page.LogLine(l))
		}
		p.Said = append(p.Said, one)
	}
	for _, a := range d.accounts() {
		one := page.Account{Of: a.Of}
		for _, f := range a.Facts {
			one.Facts = append(one.Facts, page.Fact(f))
		}
		p.Accounts = append(p.Accounts, one)
	}
	data, err := page.Write(p)
	if err != nil {
		return err
	}
	return d.out.write(d.out.html, data)
}
