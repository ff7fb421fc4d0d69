package headline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/analyze/trials"
	"github.com/coreos/dbtester/pkg/workload"
)

// alike is the ratio up to which two numbers count as the same.
const alike = 1.02

// contender is a column that the verdict compares.
type contender struct {
	name  string
	value float64
	n     int // trials with a value
	group trials.Group
}

// verdict compares the valid columns in one sentence: by throughput, or by p99 where
// all kept up with the same rate.
func (h *Headline) verdict(groups []trials.Group) string {
	if text, ok := h.byCapacity(groups); ok {
		return h.without(text)
	}
	if at := slices.IndexFunc(h.Rows, func(r Row) bool { return r.Name == throughputRow }); at >= 0 {
		all := h.contenders(h.Rows[at], groups)
		best, worst := ends(all)
		switch {
		case len(all) == 0:
			return h.without("No throughput was measured that may be compared.")
		case len(all) == 1:
			return h.without(h.alone(all[0]))
		case rated(all) && best <= alike*worst:
			return h.without(h.byLatency(groups))
		}
		return h.without(sentence(all, More, requestsOf(all[0].group.Runs[0]), definitionOf(throughputRow)))
	}
	return h.without("No throughput was measured.")
}

// byCapacity compares the columns whose capacity was searched for.
func (h *Headline) byCapacity(groups []trials.Group) (string, bool) {
	at := slices.IndexFunc(h.Rows, func(r Row) bool { return r.Name == capacityRow })
	if at < 0 {
		return "", false
	}
	all := h.contenders(h.Rows[at], groups)
	switch len(all) {
	case 0:
		return "No capacity was found.", true
	case 1:
		c := all[0]
		text := fmt.Sprintf("%s sustains %s %s a second with %s", c.name, run.RateNumber(c.value), requestsOf(c.group.Runs[0]), searchOf(c.group).SLO())
		switch runs := len(c.group.Runs); {
		case c.n < runs:
			text += fmt.Sprintf(", the median of the trials that found a capacity, %d of %d", c.n, runs)
		case runs > 1:
			text += fmt.Sprintf(", the median of %d trials", runs)
		}
		return text + ".", true
	}
	if !sameLimits(groupsOf(all)) {
		return "The capacities are of different limits, and so not compared.", true
	}
	first := all[0].group
	return "At capacity (" + searchOf(first).SLO() + "), " + sentence(all, More, requestsOf(first.Runs[0]), definitionOf(capacityRow)), true
}

// searchOf is the search of the first run of a group that has one.
func searchOf(g trials.Group) workload.Capacity {
	for _, r := range g.Runs {
		if r.Capacity != nil {
			return r.Capacity.Capacity.Capacity
		}
	}
	return workload.Capacity{}
}

// sameLimits reports whether the capacities of groups are of the same limits.
func sameLimits(groups []trials.Group) bool {
	type limits struct {
		latency           time.Duration
		at, errors, share workload.Percent
	}
	of := func(g trials.Group) limits {
		c := searchOf(g)
		return limits{c.Latency, c.At, c.Errors, c.Share}
	}
	return !slices.ContainsFunc(groups, func(g trials.Group) bool { return of(g) != of(groups[0]) })
}

func groupsOf(all []contender) (groups []trials.Group) {
	for _, c := range all {
		groups = append(groups, c.group)
	}
	return groups
}

// withCapacity are the groups of a point with a capacity that may be compared.
func (h *Headline) withCapacity(point string, row Row, groups []trials.Group) (list []trials.Group) {
	for i, c := range row.Cells {
		if c.Value != nil && h.Columns[i].Valid && h.Columns[i].Point == point {
			list = append(list, groups[i])
		}
	}
	return list
}

// contenders are the valid columns with a number, the best first.
func (h *Headline) contenders(row Row, groups []trials.Group) (all []contender) {
	for i, c := range row.Cells {
		if c.Value != nil && h.Columns[i].Valid && !c.AtLeast {
			all = append(all, contender{h.Columns[i].title, *c.Value, c.N, groups[i]})
		}
	}
	slices.SortStableFunc(all, func(a, b contender) int {
		if row.Better == Less {
			return cmp.Compare(a.value, b.value)
		}
		return cmp.Compare(b.value, a.value)
	})
	return all
}

// ends returns the largest and the smallest value.
func ends(all []contender) (most, least float64) {
	for i, c := range all {
		if i == 0 {
			most, least = c.value, c.value
		}
		most, least = max(most, c.value), min(least, c.value)
	}
	return most, least
}

// rated reports whether requests were due at a rate in all columns.
func rated(all []contender) bool {
	return !slices.ContainsFunc(all, func(c contender) bool { return c.group.Runs[0].Closed() })
}

func definitionOf(name string) definition {
	list := definitions()
	return list[slices.IndexFunc(list, func(d definition) bool { return d.name == name })]
}

// alone describes the only column.
func (h *Headline) alone(c contender) string {
	text := fmt.Sprintf("%s answered %s %s a second", c.name, table.Significant(c.value), requestsOf(c.group.Runs[0]))
	if at := slices.IndexFunc(h.Rows, func(r Row) bool { return r.Name == p99Row }); at >= 0 {
		for i, column := range h.Columns {
			if cell := h.Rows[at].Cells[i]; column.title == c.name && cell.Value != nil {
				if cell.AtLeast {
					text += "; the p99 latency is " + cell.Text
					continue
				}
				text += ", 99 % of them within " + cell.Text
			}
		}
	}
	if of := stageOf(c.group.Runs[0]).Label; of != "" {
		text += ", with " + of
	}
	return text + ". " + howSure(c.group)
}

// howSure is what trials of a single column show.
func howSure(g trials.Group) string {
	if len(g.Runs) == 1 {
		return "It ran once, so nothing shows how far a repetition would differ."
	}
	return fmt.Sprintf("It ran %d times: the median of the trials.", len(g.Runs))
}

// byLatency compares columns that kept up with the same rate.
func (h *Headline) byLatency(groups []trials.Group) string {
	at := slices.IndexFunc(h.Rows, func(r Row) bool { return r.Name == p99Row })
	if at < 0 {
		return "All kept up with the rate."
	}
	all := h.contenders(h.Rows[at], groups)
	if len(all) < 2 {
		return "All kept up with the rate, and fewer than two have a p99 latency to compare."
	}
	return "All kept up with the rate; " + sentence(all, Less, "", definitionOf(p99Row))
}

// sentence states which is first, by how much, and how sure that is. What names the
// requests where more of them is better.
func sentence(all []contender, better Better, what string, d definition) string {
	best, second := all[0], all[1]
	agree, certain := agreement(all, better, d)
	switch {
	case !certain:
		return fmt.Sprintf("It is not certain whether %s or %s is ahead: %s and %s are the medians. %s", best.name, second.name, d.text(best.value), d.text(second.value), agree)
	case factor(best, second) < alike:
		return fmt.Sprintf("%s and %s are alike: %s and %s. %s", best.name, second.name, d.text(best.value), d.text(second.value), agree)
	case better == Less:
		return fmt.Sprintf("%s had the lowest %s, %s: %s. %s", best.name, d.name, d.text(best.value), against(all, "%[2]s had %[1]s times as much"), agree)
	case len(all) == 2:
		return fmt.Sprintf("%s answered %s times as many %s a second as %s. %s", best.name, table.Ratio(factor(best, second)), what, second.name, agree)
	}
	return fmt.Sprintf("%s answered the most %s a second: %s. %s", best.name, what, against(all, "%s times as many as %s"), agree)
}

// against compares the first with each other one.
func against(all []contender, format string) string {
	var parts []string
	for _, c := range all[1:] {
		parts = append(parts, fmt.Sprintf(format, table.Ratio(factor(all[0], c)), c.name))
	}
	return strings.Join(parts, ", ")
}

// factor is by how much the first number differs from another, at least 1.
func factor(best, other contender) float64 {
	return max(best.value, other.value) / min(best.value, other.value)
}

// agreement reports in how many trials the first was ahead of the second, and whether it
// was in all of them.
func agreement(all []contender, better Better, d definition) (text string, certain bool) {
	best, second := all[0], all[1]
	n, ahead := 0, 0
	for i := range min(len(best.group.Runs), len(second.group.Runs)) {
		a, b := d.of(best.group.Runs[i]), d.of(second.group.Runs[i])
		if !a.Known() || !b.Known() {
			continue
		}
		n++
		if better == More && a.Value > b.Value || better == Less && a.Value < b.Value {
			ahead++
		}
	}
	switch {
	case n < 2:
		return "Each ran once, so nothing shows how far a repetition would differ.", true
	case ahead < n:
		return fmt.Sprintf("%s was ahead in %d of %d trials.", best.name, ahead, n), false
	case n == 2:
		return "Both trials agree.", true
	}
	return fmt.Sprintf("All %d trials agree.", n), true
}

// without adds which columns were left out.
func (h *Headline) without(text string) string {
	var out []string
	for _, c := range h.Columns {
		if !c.Valid {
			out = append(out, c.title)
		}
	}
	switch {
	case len(out) == 0:
		return text
	case len(out) == 1 && len(h.Columns) == 1:
		return "Nothing can be compared: " + out[0] + " is not valid."
	case len(out) == len(h.Columns):
		return "Nothing can be compared: " + strings.Join(run.Distinct(out), ", ") + " are not valid."
	}
	return text + " Not valid, and so not compared: " + strings.Join(run.Distinct(out), ", ") + "."
}
