// Package headline reduces a report to its first screen: the answer from package answers, a grade,
// each database's numbers at equal points, the doubts that could change the order, and the settings
// that differ. Text, JSON, README, page and the end of a control run all show it.
package headline

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/answers"
	"github.com/coreos/dbtester/analyze/answers/choose"
	"github.com/coreos/dbtester/analyze/answers/curve"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
	"github.com/coreos/dbtester/analyze/table"
)

// Headline is a report's first screen.
type Headline struct {
	// What describes the members, the load, the trials and the date in one line.
	What string `json:"what"`
	// Verdict is the answer's sentence and its basis.
	Verdict string          `json:"verdict"`
	Answer  *answers.Answer `json:"answer"`
	Grade   Grade           `json:"grade"`
	// Points are all databases' numbers at equal points of the load.
	Points Points `json:"points"`
	// Card is shown in place of the points; nil without one.
	Card *abilities.Card `json:"card,omitempty"`
	// Facts are numbers of the whole load: the longest pause, keys, costs.
	Facts Facts `json:"facts"`
	// Why has the causes of the mean response times; nil if they are not known.
	Why *abilities.Explanation `json:"why,omitempty"`
	// Doubts are the report's marks, classified by whether they could change the order.
	Doubts []Doubt `json:"doubts"`
	Trust  Trust   `json:"trust"`
	// Unequal lists the settings that differ between the databases, one per entry.
	Unequal []string `json:"unequal"`
	Columns []Column `json:"columns"`
	Rows    []Row    `json:"rows"`
	// Sweeps are the curves of sweeps, and Choice answers a need; both are empty if there is none.
	Sweeps []curve.Sweep  `json:"sweeps,omitempty"`
	Choice *choose.Choice `json:"choice,omitempty"`
}

// Column is one database in one experiment, with all of its trials.
type Column struct {
	// Name is the first run's tag. Text is the column heading, which adds the actual version if it
	// contradicts the tag. Dated is the start of the first run in UTC if the columns come from
	// several experiments.
	Name  string `json:"name"`
	Text  string `json:"text"`
	Dated string `json:"dated,omitempty"`
	// Point is the column's point in a sweep, such as "3 members"; "" if it is not part of a sweep.
	// Columns at different points are not compared.
	Point string `json:"point,omitempty"`
	// Trials is the number of runs in the column.
	Trials int `json:"trials"`
	// Tags are the names of the column's runs in the tables of single trials.
	Tags []string `json:"tags"`
	// Valid is false if a mark makes any of the column's numbers invalid.
	Valid bool `json:"valid"`
	// title is Name, with the actual version if it contradicts the tag.
	title string
}

// Better is the direction in which a number improves.
type Better string

const (
	More Better = "more"
	Less Better = "less"
)

// Row is one number for every column.
type Row struct {
	Name       string `json:"name"`
	Unit       string `json:"unit"`
	Definition string `json:"definition"`
	Better     Better `json:"better"`
	Cells      []Cell `json:"cells"`
	ofStage    bool
}

// Cell is one number for one column.
type Cell struct {
	// Text is the value with its unit, or the reason why it is missing.
	Text string `json:"text"`
	// Value is the median over the trials; nil if it was not measured.
	Value *float64 `json:"value"`
	// Low and High are bounds of the kind given by Doubt; nil for a single trial.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// N is the number of trials behind the value.
	N int `json:"n"`
	// Doubt names the kind of bounds in Low and High; "" if there are none.
	Doubt string `json:"doubt,omitempty"`
	// Spread formats Low, High and N; "" for a single trial.
	Spread string `json:"spread,omitempty"`
	// Of names the part of the load that the number describes; "" means all of it.
	Of string `json:"of,omitempty"`
	// Marks qualify the value.
	Marks []string `json:"marks,omitempty"`
	// Missing is the reason why there is no value.
	Missing string `json:"missing,omitempty"`
	// AtLeast means that the value is only a lower bound.
	AtLeast bool `json:"at_least,omitempty"`
}

// Of returns the headline for a report's runs and marks, with columns in report order.
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
