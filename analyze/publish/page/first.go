package page

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/coreos/dbtester/analyze/answers/headline"
)

// mostDoubts is how many doubts the first screen has room for, and lettersAboveFacts how many
// letters of them if the numbers of the whole load stand below them. One is always shown.
const (
	mostDoubts        = 3
	lettersAboveFacts = 280
)

// first is what the first screen shows of a headline.
type first struct {
	Points points
	// Could are the first doubts that could change the order, Other all other doubts.
	Could, Other []headline.Doubt
	several      bool
	byDatabase   bool // the points are those of databases
	letters      int  // of the answer
	other, more  int  // of Other, that could change the order, and that cannot
}

func firstOf(h *headline.Headline) first {
	if h == nil {
		return first{}
	}
	f := first{Points: pointsOf(h.Points), several: len(h.Columns) > 1, byDatabase: len(h.Points.Columns) == 1}
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

// hasRoom reports whether a doubt can be shown besides those that are.
func (f first) hasRoom(d headline.Doubt) bool {
	if len(f.Could) == 0 || f.FactsBelow() || f.FactsBeside() {
		return len(f.Could) < mostDoubts
	}
	letters := 0
	for _, shown := range append(slices.Clone(f.Could), d) {
		letters += utf8.RuneCountInString(shown.String())
	}
	return len(f.Could) < mostDoubts && letters <= lettersAboveFacts
}

// fewPoints is the height of a table that leaves room for another one below it.
const fewPoints = 5

// fewDatabases is how many columns of the whole load have room below the points.
const fewDatabases = 3

// FactsBelow: the numbers of the whole load stand below those at equal points.
func (f first) FactsBelow() bool { return !f.FactsBeside() && len(f.Points.Rows) <= fewPoints }

// FactsBeside: they continue the rows of the points, which are databases, and all doubts stand
// below both.
func (f first) FactsBeside() bool { return f.byDatabase && len(f.Points.Rows) > fewDatabases }

// longAnswer is the number of letters from which the answer is set smaller.
const longAnswer = 170

// Long: the answer is set smaller, to leave room for what is below it.
func (f first) Long() bool { return f.letters > longAnswer }

// what is what a doubt could change.
func (f first) what() string {
	if f.several {
		return "the order"
	}
	return "the numbers"
}

// CouldTitle heads the doubts of the first screen, OtherTitle the others.
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

func (f first) OtherDoubts() string { return counted(len(f.Other), "note") }

// MoreDoubts counts the other doubts in a sentence, "" without any.
func (f first) MoreDoubts() string {
	var parts []string
	if f.other > 0 {
		parts = append(parts, fmt.Sprintf("%d more could change %s", f.other, f.what()))
	}
	if f.more > 0 {
		parts = append(parts, counted(f.more, "note")+" cannot change "+f.what())
	}
	return strings.Join(parts, "; ")
}

// GradeText is why the grade is no better, as a sentence.
func (v *view) GradeText() string {
	text := []rune(v.Headline.Grade.Text)
	if len(text) > 0 {
		text[0] = unicode.ToUpper(text[0])
	}
	return string(text)
}

// points is the table of the numbers at equal points.
type points struct {
	Heads [][]head
	Rows  []point
}

// head is a cell of the table's head.
type head struct {
	Text          string
	Columns, Rows int
}

type point struct {
	Label string
	Cells []cell
}

// cell is one number; About are the bounds of its trials.
type cell struct {
	Text, About string
	Missing     bool
}

// pointsOf lays out one database, or one in each row, with all numbers, and several by
// throughput and p99.
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
