package main

import (
	"fmt"
	"strings"
)

// A verdict ends with one of these words.
const (
	barMet    = ": met"
	barMissed = ": missed"
)

// bar limits the median of one quantity in a row.
type bar struct {
	quantity quantity
	to       string // the row that it is a ratio to; "" for the quantity itself
	most     float64
}

// quantity is a number that a run yields.
type quantity struct {
	name, unit string
	of         func(usage) float64
}

var (
	cpu  = quantity{"CPU", "us", cpuOf}
	anon = quantity{"RssAnon", "MB", anonOf}
	peak = quantity{"peak RSS", "MB", peakOf}
)

// judge returns the words for whether a median is at most a bar.
func judge(median, most float64) string {
	if median <= most {
		return barMet
	}
	return barMissed
}

// verdicts states for each of a row's bars whether it is met.
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

// floorOf returns the floor's row, if there is one.
func floorOf(rows []row) (row, bool) {
	for _, r := range rows {
		if r.name == floorName {
			return r, true
		}
	}
	return row{}, false
}
