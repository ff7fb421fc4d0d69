package table

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
)

// Merged makes the table with one column for all trials of a database, showing the median and
// spread.
func Merged(runs []*run.Run) *Table {
	groups := trials.Groups(runs)
	single := filled(runs)
	if len(groups) == len(runs) {
		single.annotate(runs)
		return single
	}
	at := map[*run.Run]int{}
	for i, r := range runs {
		at[r] = i
	}
	t := &Table{Columns: Headers(groups)}
	var named []*run.Run
	for _, g := range groups {
		for _, r := range g.Runs {
			one := *r
			one.Info.Tag = g.Name
			named = append(named, &one)
		}
	}
	for _, row := range single.Rows {
		line := row
		line.Cells = nil
		for _, g := range groups {
			var cells []Cell
			for _, r := range g.Runs {
				cells = append(cells, row.Cells[at[r]])
			}
			line.Cells = append(line.Cells, merged(cells))
		}
		t.Rows = append(t.Rows, line)
	}
	t.annotate(named)
	return t
}

// merged summarizes the cells in one row over the trials of a database.
func merged(cells []Cell) Cell {
	if len(cells) == 1 {
		return cells[0]
	}
	if at := slices.IndexFunc(cells, func(c Cell) bool { return len(c.Parts) > 0 }); at >= 0 {
		return mergedParts(cells, cells[at].Parts)
	}
	var known []Cell
	var values []float64
	var marks, texts []string
	for _, c := range cells {
		marks = append(marks, c.Marks...)
		texts = append(texts, c.Text)
		if c.Value != nil {
			known, values = append(known, c), append(values, *c.Value)
		}
	}
	marks = run.Distinct(marks)
	if len(known) == 0 {
		c := cells[0]
		if at := slices.IndexFunc(cells, Cell.applies); at >= 0 {
			c = cells[at]
		}
		if c.Missing == "" {
			c.Text = strings.Join(run.Distinct(texts), "; ")
		}
		c.Marks = marks
		return c
	}
	return spread(known, trials.SpreadOf(values), marks, len(run.Distinct(texts)) == 1)
}

// spread formats the median over cells with values, and their spread unless they are all the same.
func spread(known []Cell, s trials.Spread, marks []string, same bool) Cell {
	text := func(v float64) string {
		nearest := slices.MinFunc(known, func(a, b Cell) int { return sign(math.Abs(*a.Value-v) - math.Abs(*b.Value-v)) })
		if nearest.Format == nil || *nearest.Value == v {
			return nearest.Text
		}
		return nearest.Format(v)
	}
	c := Cell{Text: text(s.Median), Value: &s.Median, N: known[0].N, Marks: marks, Trials: s.N, Low: &s.Low, High: &s.High}
	if same {
		return c
	}
	if slices.ContainsFunc(known, func(k Cell) bool { return k.Format == nil && len(k.Text) > longestBound }) {
		c.Spread = fmt.Sprintf("differs, n %d", s.N)
		return c
	}
	c.Spread = SpreadText(text(s.Low), text(s.High), s)
	return c
}

// longestBound limits the characters in a bound whose text is more than a number with its unit.
const longestBound = 24

// SpreadText formats the bounds of a median from their texts, with the unit printed once, and the
// trial count: "846 .. 2,395 req/sec, n 3".
func SpreadText(low, high string, s trials.Spread) string {
	kind := ""
	if s.Interval() {
		kind = "95 %, "
	}
	if low == high {
		return fmt.Sprintf("%sn %d", kind, s.N)
	}
	same := 0
	for same < min(len(low), len(high)) && low[len(low)-1-same] == high[len(high)-1-same] {
		same++
	}
	if at := strings.IndexByte(low[len(low)-same:], ' '); at >= 0 {
		// A unit inside parentheses does not belong to the number before them.
		if cut := low[:len(low)-same+at]; strings.Count(cut, "(") == strings.Count(cut, ")") {
			low = cut
		}
	}
	return fmt.Sprintf("%s .. %s, %sn %d", low, high, kind, s.N)
}

func sign(v float64) int {
	switch {
	case v < 0:
		return -1
	case v > 0:
		return 1
	}
	return 0
}

// mergedParts summarizes each stage by its label.
func mergedParts(cells []Cell, parts []Part) Cell {
	c := Cell{}
	for _, p := range parts {
		var of []Cell
		for _, one := range cells {
			if at := slices.IndexFunc(one.Parts, func(q Part) bool { return q.Label == p.Label }); at >= 0 {
				of = append(of, one.Parts[at].Cell)
			}
		}
		c.Parts = append(c.Parts, Part{p.Label, merged(of)})
	}
	c.Text = joinedText(c.Parts)
	return c
}
