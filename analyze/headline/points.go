package headline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/analyze/trials"
	"github.com/coreos/dbtester/pkg/workload"
)

// pointOf names the point of a sweep that a run is, "" for any other run.
func pointOf(r *run.Run) string {
	s := r.Info.Record.Swept
	if s == nil || s.Key.Stepped() {
		return ""
	}
	switch {
	case s.Key == workload.SweepMembers:
		return fmt.Sprintf("%d member%s", s.Value, run.Plural(int(s.Value)))
	case strings.HasSuffix(s.Text, "B"):
		return s.Text + " before the load"
	}
	return s.Text + " keys before the load"
}

// points are the points of the columns in their order, each once.
func (h *Headline) points() (points []string) {
	for _, c := range h.Columns {
		if !slices.Contains(points, c.Point) {
			points = append(points, c.Point)
		}
	}
	return points
}

// unequal lists the settings that differ among the runs of each point. Those of one
// database at different points differ on purpose.
func unequal(runs []*run.Run, names map[string]string) []string {
	at := map[string][]*run.Run{}
	var order []string
	for _, r := range runs {
		p := pointOf(r)
		if at[p] == nil {
			order = append(order, p)
		}
		at[p] = append(at[p], r)
	}
	if len(order) < 2 {
		return table.Unequal(runs, names)
	}
	notes := []string{}
	for _, p := range order {
		for _, note := range table.Unequal(at[p], names) {
			notes = append(notes, strings.TrimPrefix(p+": "+note, ": "))
		}
	}
	return notes
}

// only returns the headline of the columns of one point.
func (h *Headline) only(point string, groups []trials.Group) (*Headline, []trials.Group) {
	one := &Headline{}
	var of []trials.Group
	for i, c := range h.Columns {
		if c.Point == point {
			// The sentence is of the point, so the databases have their names without it.
			if s := groups[i].Runs[0].Info.Record.Swept; s != nil && !slices.ContainsFunc(one.Columns, func(o Column) bool { return o.Name == s.Of }) {
				c.title = s.Of + strings.TrimPrefix(c.title, c.Name)
				c.Name = s.Of
			}
			one.Columns = append(one.Columns, c)
			of = append(of, groups[i])
		}
	}
	for _, row := range h.Rows {
		cells := row.Cells
		row.Cells = nil
		for i, c := range h.Columns {
			if c.Point == point {
				row.Cells = append(row.Cells, cells[i])
			}
		}
		one.Rows = append(one.Rows, row)
	}
	return one, of
}

// verdicts compares the databases at each point of a sweep; without a sweep, all columns.
func (h *Headline) verdicts(groups []trials.Group) string {
	points := h.points()
	if len(points) == 1 {
		return h.verdict(groups)
	}
	var parts []string
	for _, p := range points {
		one, of := h.only(p, groups)
		text := one.verdict(of)
		if p != "" {
			text = "With " + p + ": " + text
		}
		parts = append(parts, text)
	}
	return withoutRepeats(parts)
}

// withoutRepeats joins texts. What all of them end with stands once, at the end.
func withoutRepeats(parts []string) string {
	for _, end := range []string{" Each ran once, so nothing shows how far a repetition would differ."} {
		if !slices.ContainsFunc(parts, func(p string) bool { return !strings.HasSuffix(p, end) }) {
			for i := range parts[:len(parts)-1] {
				parts[i] = strings.TrimSuffix(parts[i], end)
			}
		}
	}
	return strings.Join(parts, " ")
}
