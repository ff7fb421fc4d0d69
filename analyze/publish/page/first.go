package page

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/analyze/answers/headline"
)

// mostDoubts limits the doubts on the first screen, and lettersOfDoubts their total length in
// characters beside a card, and where the numbers for the whole load follow below. At least one
// doubt is shown.
const (
	mostDoubts      = 3
	lettersOfDoubts = 280
)

// first is the part of a headline that the first screen shows.
type first struct {
	Points points
	Card   *card // in place of the points; nil without one
	// Could are the first doubts that could change the order, Other all remaining doubts.
	Could, Other []headline.Doubt
	several      bool
	byDatabase   bool // the points are databases
	letters      int  // length of the answer
	other, more  int  // doubts in Other that could, and that cannot, change the order
}

func firstOf(h *headline.Headline) first {
	if h == nil {
		return first{}
	}
	f := first{Card: cardOf(h), several: len(h.Columns) > 1}
	if f.Card == nil {
		f.Points, f.byDatabase = pointsOf(h.Points), len(h.Points.Columns) == 1
	}
	if h.Answer != nil {
		f.letters = utf8.RuneCountInString(h.Answer.Sentence)
	}
	for _, d := range h.Doubts {
		switch {
		case d.Could && f.hasRoom(d):
			f.Could = append(f.Could, d)
			continue
		case d.Could:
			f.other++
		default:
			f.more++
		}
		f.Other = append(f.Other, d)
	}
	return f
}

// hasRoom reports whether another doubt fits on the screen.
func (f first) hasRoom(d headline.Doubt) bool {
	if len(f.Could) == 0 || f.FactsBelow() || f.FactsBeside() {
		return len(f.Could) < mostDoubts
	}
	letters := 0
	for _, shown := range append(slices.Clone(f.Could), d) {
		letters += utf8.RuneCountInString(shown.String())
	}
	return len(f.Could) < mostDoubts && letters <= lettersOfDoubts
}

// fewPoints is the row count up to which a table leaves room for another one below it.
const fewPoints = 5

// fewDatabases is the number of whole-load columns that fit below the points.
const fewDatabases = 3

// FactsBelow reports whether the numbers for the whole load go below those at equal points.
func (f first) FactsBelow() bool {
	return f.Card == nil && !f.FactsBeside() && len(f.Points.Rows) <= fewPoints
}

// FactsBeside reports whether they extend the rows of points, which are databases. The doubts then
// go below both.
func (f first) FactsBeside() bool { return f.byDatabase && len(f.Points.Rows) > fewDatabases }

// longAnswer is the character count from which an answer is set in a smaller font.
const longAnswer = 170

// Long reports whether the answer is set in a smaller font, to leave room below it.
func (f first) Long() bool { return f.letters > longAnswer }

// what names the things that a doubt could change.
func (f first) what() string {
	if f.several {
		return "the order"
	}
	return "the numbers"
}

// CouldTitle is the heading over the doubts on the first screen, and OtherTitle the heading over
// the others.
func (f first) CouldTitle() string { return "What could change " + f.what() }

func (f first) OtherTitle() string {
	switch {
	case f.other == 0:
		return "What cannot change " + f.what()
	case f.more == 0:
		return "What else could change " + f.what()
	}
	return "Further notes on the numbers"
}

func (f first) OtherDoubts() string { return english.Plural(len(f.Other), "note", "") }

// MoreDoubts counts the other doubts in a sentence, or returns "".
func (f first) MoreDoubts() string {
	var parts []string
	if f.other > 0 {
		parts = append(parts, fmt.Sprintf("%d more could change %s", f.other, f.what()))
	}
	if f.more > 0 {
		parts = append(parts, english.Plural(f.more, "note", "")+" cannot change "+f.what())
	}
	return strings.Join(parts, "; ")
}

// points is the table with numbers at equal points.
type points struct {
	Heads [][]head
	Rows  []point
}

// head is a heading cell.
type head struct {
	Text          string
	Columns, Rows int
}

type point struct {
	Label string
	Cells []cell
}

// cell is one number; About gives its bounds over the trials.
type cell struct {
	Text, About string
	Missing     bool
}

// pointsOf lays out the table. A single database, or databases as rows, get all numbers; several
// databases get throughput and p99.
func pointsOf(p headline.Points) points {
	var out points
	if len(p.Columns) == 1 {
		out.Heads = [][]head{{{p.Of, 1, 1}, {"requests/s", 1, 1}, {"p50", 1, 1}, {"p99", 1, 1}, {"longest", 1, 1}, {"not ok", 1, 1}}}
		for _, row := range p.Rows {
			c := row.Cells[0]
			label := row.Label
			if !c.Valid {
				label += " (not valid)"
			}
			out.Rows = append(out.Rows, point{label, []cell{cellOf(c.Throughput), cellOf(c.P50), cellOf(c.P99), cellOf(c.Max), cellOf(c.Failed)}})
		}
		return out
	}
	top := []head{{p.Of, 1, 2}, {"requests/s", len(p.Columns), 1}, {"p99 latency", len(p.Columns), 1}}
	var names []head
	for range 2 {
		for _, name := range p.Columns {
			names = append(names, head{name, 1, 1})
		}
	}
	out.Heads = [][]head{top, names}
	for _, row := range p.Rows {
		one := point{Label: row.Label}
		for _, c := range row.Cells {
			one.Cells = append(one.Cells, cellOf(c.Throughput))
		}
		for _, c := range row.Cells {
			one.Cells = append(one.Cells, cellOf(c.P99))
		}
		out.Rows = append(out.Rows, one)
	}
	return out
}

func cellOf(v headline.PointValue) cell {
	c := cell{Text: v.Text, Missing: v.Value == nil}
	if v.Low != nil && v.High != nil {
		c.About = fmt.Sprintf("median of %d trials: %.3g to %.3g", v.N, *v.Low, *v.High)
	}
	return c
}
