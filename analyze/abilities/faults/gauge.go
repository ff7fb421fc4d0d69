package faults

import (
	"slices"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
)

// Gauge is the recovery metric.
func (Half) Gauge() (name, measures string) {
	return "blackout", "the longest times without an answer"
}

// Gauges returns the median blackout for each fault in the file. A fault that failed to take hold
// once has no gauge, because the runs would not be comparable.
func (Half) Gauges(first *run.Run) (list []abilities.Gauge) {
	for _, g := range grouped(happened(first)) {
		list = append(list, abilities.Gauge{Label: g.name, Unit: "s", Of: func(r *run.Run) run.Measure {
			all := grouped(happened(r))
			i := slices.IndexFunc(all, func(o group) bool { return o.number == g.number && o.name == g.name })
			if i < 0 {
				return run.Missing("the run had no %s", g.name)
			}
			for _, h := range all[i].of {
				if h.Failed != "" {
					return run.Missing("%s failed: %s", g.name, h.Failed)
				}
			}
			m := all[i].median(blackout())
			switch {
			case m.N == 0:
				return run.Missing("no second of measured load before %s", g.name)
			case m.endless > 0:
				return run.Missing("the load did not recover from %s", g.name)
			}
			return run.Measured(m.Is, int64(m.N))
		}})
	}
	return list
}
