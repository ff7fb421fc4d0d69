package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// row is one program and its runs.
type row struct {
	name string
	argv []string
	// notValid also accepts dbtester runs that were recorded but are not valid: the store failed
	// requests, and their cost to the client is measured all the same.
	notValid bool
	// count reads the request count from the program output; nil if the number is an argument.
	count func(output string) (int, error)
	bars  []bar
	runs  []usage
}

// verdicts states for each bar of the row whether it is met.
func (r row) verdicts(rows []row) string {
	var texts []string
	for _, b := range r.bars {
		if b.to == "" {
			m := median(r.runs, b.quantity.of)
			texts = append(texts, fmt.Sprintf("%s %.1f <= %g %s%s", b.quantity.name, m, b.most, b.quantity.unit, judge(m, b.most)))
			continue
		}
		for _, other := range rows {
			if other.name == b.to {
				m, _, _ := ratio(r.runs, other.runs, b.quantity.of)
				verdict := judge(m, b.most)
				if verdict == barMissed {
					verdict += floorMisses(b, other, rows)
				}
				texts = append(texts, fmt.Sprintf("%s %s <= %g of %s%s", b.quantity.name, times(m), b.most, b.to, verdict))
			}
		}
	}
	return strings.Join(texts, "; ")
}

// floorMisses states that the floor misses a bar as well, which no client can meet then on this
// machine; "" if it meets the bar, or if there is no floor.
func floorMisses(b bar, other row, rows []row) string {
	floor, ok := floorOf(rows)
	if !ok || other.name == floorName {
		return ""
	}
	m, _, _ := ratio(floor.runs, other.runs, b.quantity.of)
	if judge(m, b.most) == barMet {
		return ""
	}
	return fmt.Sprintf(" (by the floor too, %s)", times(m))
}

// floorOf returns the row for the floor, if there is one.
func floorOf(rows []row) (row, bool) {
	for _, r := range rows {
		if r.name == floorName {
			return r, true
		}
	}
	return row{}, false
}

// printTable prints one row for each program, with ratios to the first, and to the floor if there is
// one.
func printTable(out io.Writer, request string, rows []row) {
	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	floor, hasFloor := floorOf(rows)
	columns := []string{"program", "CPU per " + request, "ratio (interval)", "to the floor (interval)", "RssAnon", "ratio (interval)", "peak RSS", "ratio (interval)", request + "s/s", "bars"}
	if !hasFloor {
		columns = slices.Delete(columns, 3, 4)
	}
	fmt.Fprintf(w, "| %s\t|\n", strings.Join(columns, "\t| "))
	fmt.Fprintln(w, "|"+strings.Repeat("---\t|", len(columns)))
	for _, r := range rows {
		cells := []string{r.name, fmt.Sprintf("%.1f us", median(r.runs, cpuOf)), ratioCell(r, rows[0], cpuOf)}
		if hasFloor {
			cells = append(cells, ratioCell(r, floor, cpuOf))
		}
		cells = append(cells, fmt.Sprintf("%.1f MB", median(r.runs, anonOf)), ratioCell(r, rows[0], anonOf),
			fmt.Sprintf("%.0f MB", median(r.runs, peakOf)), ratioCell(r, rows[0], peakOf),
			fmt.Sprintf("%.0f", median(r.runs, paceOf)), r.verdicts(rows))
		fmt.Fprintf(w, "| %s\t|\n", strings.Join(cells, "\t| "))
	}
	w.Flush()
}

// ratioCell formats the ratio between two rows with its interval.
func ratioCell(r, to row, of func(usage) float64) string {
	mid, lo, hi := ratio(r.runs, to.runs, of)
	return fmt.Sprintf("%s (%s-%s)", times(mid), times(lo), times(hi))
}

// times prints a ratio, below 1 with three digits after the point and else with two.
func times(ratio float64) string {
	if ratio < 1 {
		return fmt.Sprintf("%.3f", ratio)
	}
	return fmt.Sprintf("%.2f", ratio)
}
