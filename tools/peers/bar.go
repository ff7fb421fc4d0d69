package main

// A verdict ends with one of these words.
const (
	barMet    = ": met"
	barMissed = ": missed"
)

// bar limits the median of one quantity in a row.
type bar struct {
	quantity quantity
	to       string // the row it is a ratio to; "" for the quantity itself
	most     float64
}

// quantity is a number a run yields.
type quantity struct {
	name, unit string
	of         func(usage) float64
}

var (
	cpu  = quantity{"CPU", "us", cpuOf}
	anon = quantity{"RssAnon", "MB", anonOf}
	peak = quantity{"peak RSS", "MB", peakOf}
)

// judge returns the words for whether the median is at most most.
func judge(median, most float64) string {
	if median <= most {
		return barMet
	}
	return barMissed
}
