package chart

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/figure"
)

// mostMain limits the figures that a report shows at once: readers do not look at more. It shows even
// fewer heat maps, because there is one per database.
const (
	mostMain          = 12
	mostMainHeat      = 3
	mostMainAbilities = 6
)

// heatName begins heat map names; the database follows.
const heatName = "LATENCY-HEAT-"

// mainPlaces lists the figures that a report shows at once, the most informative first. If a place
// has several names, the first available figure takes it. Every other figure repeats one of these
// or seldom matters: sectors, for example, are bytes in another unit.
func mainPlaces() [][]string {
	return [][]string{
		{"CAPACITY"}, {"SWEEP-RATE"}, {"SWEEP-CLIENTS"}, {"SWEEP-PRELOAD"}, {"SWEEP-MEMBERS"},
		{"AVG-THROUGHPUT-BY-CLIENTS"}, {"P99-BY-CLIENTS", "AVG-LATENCY-MS-BY-CLIENTS"}, {"P99-BY-THROUGHPUT"},
		{"THROUGHPUT-BY-DATABASE"}, {"P99-BY-DATABASE"},
		{"AVG-THROUGHPUT"}, {"AVG-LATENCY-MS"}, {"FAILURES"}, {"BACKLOG"},
		{"LATENCY-PERCENTILES"}, {"LATENCY-BOXES"},
		{"CPU-BY-MEMBER", "AVG-CPU"}, {"VMRSS-MB-BY-MEMBER", "AVG-VMRSS-MB"}, {"WRITE-BYTES-BY-MEMBER", "AVG-WRITE-BYTES-NUM-DELTA"},
	}
}

// ranked marks the main figures and moves them to the front: first some that abilities add, by
// their names, then the figures with a place. The others keep their order.
func ranked(all []figure.Figure, ofAbilities []string) []figure.Figure {
	var first []figure.Figure
	take := func(is func(f figure.Figure) bool) bool {
		at := slices.IndexFunc(all, is)
		if at < 0 || len(first) == mostMain {
			return false
		}
		f := all[at]
		f.Main = true
		first, all = append(first, f), slices.Delete(all, at, at+1)
		return true
	}
	for range mostMainAbilities {
		take(func(f figure.Figure) bool { return slices.Contains(ofAbilities, f.Name) })
	}
	for _, names := range mainPlaces() {
		for _, name := range names {
			if take(func(f figure.Figure) bool { return f.Name == name }) {
				break
			}
		}
	}
	for range mostMainHeat {
		take(func(f figure.Figure) bool { return strings.HasPrefix(f.Name, heatName) })
	}
	return append(first, all...)
}
