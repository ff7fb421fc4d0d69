package headline

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/answers"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
	"github.com/coreos/dbtester/analyze/table"
)

// Of returns the headline for runs and marks, with columns in report order.
func Of(runs []*run.Run, marks []run.Mark) *Headline {
	groups := trials.Groups(runs)
	names := trials.Names(groups)
	h := &Headline{Trust: trustOf(groups, marks), Unequal: unequal(runs, names)}
	for i, header := range table.Headers(groups) {
		h.Columns = append(h.Columns, columnOf(groups[i], header, marks))
	}
	for _, d := range definitions() {
		if row := rowOf(d, groups); slices.ContainsFunc(row.Cells, Cell.applies) {
			h.Rows = append(h.Rows, row)
		}
	}
	var columns []answers.Column
	for i, c := range h.Columns {
		columns = append(columns, answers.Column{Name: c.title, Valid: c.Valid, Runs: groups[i].Runs})
	}
	h.Answer = answers.Of(columns)
	h.Verdict = strings.TrimSpace(h.Answer.Sentence + " " + h.Answer.Basis)
	h.What, h.Points = whatOf(columns), pointsOf(columns)
	h.Card = cardOf(h.Answer.Kind, columns)
	h.Facts, h.Why = factsOf(columns), whyOf(columns)
	h.Doubts = doubtsOf(h.Answer, h.Points, h.Trust.Reasons)
	h.Grade = gradeOf(h.Answer, columns, h.Doubts)
	return h
}

func columnOf(g trials.Group, header table.Header, marks []run.Mark) Column {
	c := Column{Name: g.Name, Text: header.Text, Dated: header.Dated, Trials: header.Trials, Valid: true, title: g.Title(), Point: pointOf(g.Runs[0])}
	for _, r := range g.Runs {
		c.Tags = append(c.Tags, r.Info.Tag)
	}
	for _, m := range marks {
		if m.Invalid && (m.Tag == "" || slices.Contains(c.Tags, m.Tag)) {
			c.Valid = false
		}
	}
	return c
}

// inapplicable is the text of a cell that cannot have a value.
const inapplicable = "-"

func (c Cell) applies() bool { return c.Missing == "" || c.Text != inapplicable }

// rowOf fills one row.
func rowOf(d definition, groups []trials.Group) Row {
	row := Row{Name: d.name, Unit: d.unit, Definition: d.definition, Better: d.better, ofStage: d.ofStage}
	for _, g := range groups {
		row.Cells = append(row.Cells, cellOf(d, g))
	}
	return row
}

func cellOf(d definition, g trials.Group) Cell {
	spread, first := g.Measure(d.of)
	c := Cell{N: spread.N, Doubt: spread.Doubt(), Missing: first.Missing, Marks: first.Marks}
	switch {
	case first.Inapplicable:
		c.Text = inapplicable
		return c
	case !first.Known() && first.Words != "":
		c.Text = first.Words
		return c
	case !first.Known():
		c.Text = "not measured"
		return c
	}
	c.Value, c.AtLeast = &spread.Median, first.AtLeast()
	c.Text = d.text(spread.Median)
	if c.AtLeast {
		c.Text = ">= " + c.Text
	}
	if d.ofStage {
		first := g.Runs[0].Stages
		c.Of = first[run.Largest(first)].Label
	}
	if d.bounded && spread.N == 1 {
		c.Low, c.High, c.Doubt = &first.Low, &first.High, "95 % interval of the search"
		c.Spread = d.text(first.Low) + " .. " + d.text(first.High)
	}
	if spread.N > 1 {
		c.Low, c.High = &spread.Low, &spread.High
		c.Spread = table.SpreadText(d.text(spread.Low), d.text(spread.High), spread)
	}
	return c
}
