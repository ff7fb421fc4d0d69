package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	humanize "github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
)

// memberPlot is a quantity for each member.
type memberPlot struct {
	name, what, column string
	y                  figure.Axis
}

func memberPlots() []memberPlot {
	return []memberPlot{
		{"CPU-BY-MEMBER", "CPU by member", "CPU", figure.Axis{Label: "CPU", Unit: "%"}},
		{"VMRSS-MB-BY-MEMBER", "Memory by member", "VMRSS-MB", figure.Axis{Label: "Memory", Unit: "MB"}},
		{"WRITE-BYTES-BY-MEMBER", "Disk writes by member", "WRITE-BYTES-DELTA", figure.Axis{Label: "Disk writes", Unit: "bytes/s"}},
	}
}

// memberColumn names the column for the nth member, from 0.
func memberColumn(column string, n int) string { return fmt.Sprintf("%s-%d", column, n+1) }

// memberFigures show quantities by member and second, for loads whose members differ, for example
// because one leads or died. A mean over the members hides that.
func memberFigures(d *Data) (out []figure.Figure) {
	for _, p := range memberPlots() {
		f := d.inPanels(p.name, p.what, p.y, len(d.groups()) > 1)
		differ := false
		d.add(&f, d.sameSecond, func(i int, empty figure.Series) []figure.Series {
			lines := memberLines(empty, d.Runs[i], d.Series[i], p.column)
			differ = differ || unlike(lines)
			if len(d.groups()[d.place(d.Runs[i])].Runs) > 1 {
				orderMembers(empty, lines)
			}
			return lines
		})
		if d.repeated() {
			f.Subtitle = "The members of each trial by their means, the highest first: a trial's leader may be another's follower"
		}
		if differ && len(d.groups()) <= mostPanels {
			notePartial(&f)
			shorten(&f)
			out = append(out, f)
		}
	}
	return out
}

// orderMembers names the lines for members in a trial, ordered by their means.
func orderMembers(empty figure.Series, lines []figure.Series) {
	slices.SortStableFunc(lines, func(a, b figure.Series) int { return cmp.Compare(meanKnown(b.Y), meanKnown(a.Y)) })
	for i := range lines {
		lines[i].Variant, lines[i].Marker = i, i+1
		lines[i].Name = empty.Name + ", highest"
		if i > 0 {
			lines[i].Name = fmt.Sprintf("%s, %s", empty.Name, humanize.Ordinal(i+1))
		}
	}
}

// meanKnown is the mean over the values that are not gaps, or 0.
func meanKnown(values []float64) float64 {
	sum, n := 0.0, 0.0
	for _, v := range values {
		if !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / max(n, 1)
}

// memberLines returns a line for each member in a run, based on an empty series.
func memberLines(empty figure.Series, r *run.Run, s *Series, column string) (lines []figure.Series) {
	for n := range r.Machines.Servers {
		name := memberColumn(column, n)
		values := s.loaded(name)
		if values == nil {
			continue
		}
		one := empty
		one.Name, one.Variant, one.Marker = fmt.Sprintf("%s, member %d", one.Name, n+1), n, n+1
		if slices.Contains(r.Machines.Leaders, n) {
			one.Name += ", led"
		}
		over := s.overPeriod(name)
		for i, unix := range s.Unix {
			one.X, one.Y, one.Partial = append(one.X, middle(r, unix)), append(one.Y, values[i]), append(one.Partial, over && !s.inside[i])
		}
		lines = append(lines, one)
	}
	return lines
}

// unlike reports whether members differ: one mean is at least a quarter above another, or one
// member lacks at least three seconds that another has.
func unlike(lines []figure.Series) bool {
	least, most := math.Inf(1), 0.0
	fewest, many := math.MaxInt, 0
	for _, s := range lines {
		sum, n := 0.0, 0
		for _, v := range s.Y {
			if !math.IsNaN(v) {
				sum, n = sum+v, n+1
			}
		}
		fewest, many = min(fewest, n), max(many, n)
		if n > 0 {
			least, most = min(least, sum/float64(n)), max(most, sum/float64(n))
		}
	}
	return len(lines) > 1 && (many >= fewest+3 || most >= 1.25*least && most > 0)
}
