package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/analyze/run"
)

// gaugers returns the abilities whose runs are compared by their own numbers.
func gaugers() (list []abilities.Gauger) {
	for _, half := range all.Halves() {
		if g, ok := half.(abilities.Gauger); ok {
			list = append(list, g)
		}
	}
	return list
}

// gaugerOf returns the ability whose numbers a run is compared by, or nil.
func gaugerOf(r *run.Run) abilities.Gauger {
	for _, g := range gaugers() {
		if g.Acted(r) {
			return g
		}
	}
	return nil
}

// alone returns the metrics for runs whose other numbers are not compared.
func alone() []string {
	var list []string
	for _, s := range all.Sought() {
		list = append(list, s.Name)
	}
	for _, g := range gaugers() {
		name, _ := g.Gauge()
		list = append(list, name)
	}
	return list
}

// gaugeRows returns the rows for runs in which an ability acted.
func gaugeRows(g abilities.Gauger, first *run.Run) (rows []row) {
	name, _ := g.Gauge()
	for _, one := range g.Gauges(first) {
		rows = append(rows, row{definition: definition{name: name, unit: one.Unit, whole: one.Of}, label: one.Label})
	}
	return rows
}

// gaugeRefusals returns why runs in which an ability acted, or runs without, cannot be compared by
// the deciding metrics.
func gaugeRefusals(metrics []string, runs []Recorded) (reasons []string) {
	for _, g := range gaugers() {
		var acted, others []string
		for _, r := range runs {
			if g.Acted(r.Run) {
				acted = append(acted, r.Run.Info.Tag)
			} else {
				others = append(others, r.Run.Info.Tag)
			}
		}
		name, measures := g.Gauge()
		switch by := slices.Contains(metrics, name); {
		case by && len(others) > 0:
			reasons = append(reasons, fmt.Sprintf("%s had no %s", strings.Join(others, ", "), g.Name()))
		case !by && len(acted) > 0:
			reasons = append(reasons, fmt.Sprintf("%s had %s, which change what throughput and latency mean: --metric %s compares %s", strings.Join(acted, ", "), g.Name(), name, measures))
		}
	}
	return reasons
}
