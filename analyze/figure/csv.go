package figure

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// CSV writes the figure's data: a header, and one row per X in ascending order (Bars: per category;
// Heat: per left edge of a column). Each series has a column, and further columns for its band and
// for its uncertain and partial points if it has them. Each row in a grid has a column named after
// its edges. A gap is an empty field.
func CSV(w io.Writer, f Figure) error {
	if err := f.check(); err != nil {
		return err
	}
	columns := f.columns()
	out := csv.NewWriter(w)
	header := []string{f.X.title()}
	for _, c := range columns {
		header = append(header, c.name)
	}
	rows := [][]string{header}
	if f.Kind == Heat {
		for i := range f.Grid.Counts {
			rows = append(rows, record(number(f.Grid.X[i]), columns, func(column) (int, bool) { return i, true }))
		}
	} else if f.Kind == Bars {
		for i, category := range f.Categories {
			rows = append(rows, record(category, columns, func(column) (int, bool) { return i, true }))
		}
	} else {
		places := f.places()
		for _, p := range places.sorted() {
			rows = append(rows, record(number(p.x), columns, func(c column) (int, bool) {
				i, ok := places[p][c.series]
				return i, ok
			}))
		}
	}
	for _, row := range rows {
		for i := range row {
			row[i] = plaintext.Field(row[i])
		}
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("write figure %s as csv: %w", f.Name, err)
	}
	return nil
}

// column formats the values in a series for the file. The first column, X, is handled separately.
type column struct {
	name   string
	series int
	text   func(i int) string
}

func (f Figure) columns() []column {
	var columns []column
	add := func(name string, series int, text func(int) string) {
		columns = append(columns, column{name, series, text})
	}
	repeats := f.repeats()
	for n, s := range f.Series {
		if repeats {
			s.Name = f.Panels[s.Panel] + ", " + s.Name
		}
		if f.PanelY != nil { // the panels show different quantities
			s.Name += ", " + strings.TrimPrefix(f.Panels[s.Panel], s.Name+", ")
		}
		low, high := "low", "high"
		value := s.Name
		if s.Statistic != "" {
			value, low, high = s.Name+" "+s.Statistic, "least", "most"
		}
		add(value, n, func(i int) string { return number(s.Y[i]) })
		if s.Labels != nil {
			add(value+" label", n, func(i int) string { return s.Labels[i] })
		}
		if s.Boxes != nil {
			add(s.Name+" least", n, func(i int) string { return number(s.Boxes[i].Least) })
			add(s.Name+" p25", n, func(i int) string { return number(s.Boxes[i].Low) })
			add(s.Name+" p75", n, func(i int) string { return number(s.Boxes[i].High) })
			add(s.Name+" p99", n, func(i int) string { return number(s.Boxes[i].P99) })
			add(s.Name+" most", n, func(i int) string { return number(s.Boxes[i].Most) })
		}
		if s.Low != nil {
			add(s.Name+" "+low, n, func(i int) string { return number(s.Low[i]) })
			add(s.Name+" "+high, n, func(i int) string { return number(s.High[i]) })
		}
		if s.Uncertain != nil {
			add(value+" uncertain", n, func(i int) string { return strconv.FormatBool(s.Uncertain[i]) })
		}
		if s.Partial != nil {
			add(value+" partial", n, func(i int) string { return strconv.FormatBool(s.Partial[i]) })
		}
	}
	if f.Kind == Heat {
		for row := range len(f.Grid.Y) - 1 {
			name := fmt.Sprintf("%s from %s to %s %s", f.Grid.Of, shortest(f.Grid.Y[row]), shortest(f.Grid.Y[row+1]), f.Y.Unit)
			add(strings.TrimSpace(name), 0, func(i int) string { return number(f.Grid.Counts[i][row]) })
		}
	}
	return columns
}

// record returns one row: the first field, then the text of each column at the index that at
// returns, or "" if at returns false.
func record(first string, columns []column, at func(column) (int, bool)) []string {
	fields := []string{first}
	for _, c := range columns {
		text := ""
		if i, ok := at(c); ok {
			text = c.text(i)
		}
		fields = append(fields, text)
	}
	return fields
}

// place is one row for a figure with points: the nth occurrence of x within a series. A vertical
// piece of a line thus keeps both ends.
type place struct {
	x   float64
	nth int
}

// places maps each place to the index of its point in each series that has it.
type places map[place]map[int]int

func (f Figure) places() places {
	all := places{}
	for n, s := range f.Series {
		seen := map[float64]int{}
		for i, x := range s.X {
			if math.IsNaN(x) {
				continue
			}
			p := place{x, seen[x]}
			seen[x]++
			if all[p] == nil {
				all[p] = map[int]int{}
			}
			all[p][n] = i
		}
	}
	return all
}

func (p places) sorted() []place {
	keys := make([]place, 0, len(p))
	for k := range p {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b place) int {
		switch {
		case a.x < b.x:
			return -1
		case a.x > b.x:
			return 1
		default:
			return a.nth - b.nth
		}
	})
	return keys
}

// number formats v for a table with all digits; "" for a gap.
func number(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	if a := math.Abs(v); a != 0 && (a >= 1e15 || a < 1e-9) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
