// Package resources shows the limits set for members, and how much of them they used.
package resources

import (
	"fmt"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/process/resources"
)

// Half shows member limits in reports.
type Half struct{}

var _ abilities.Tabler = Half{}

// Rows returns the limits and the part used for each member, among the rows about members.
func (Half) Rows() []abilities.Row {
	cpus := func(l resources.Limits) bool { return l.CPUs > 0 }
	memory := func(l resources.Limits) bool { return l.MemoryBytes > 0 }
	return []abilities.Row{
		{After: "OTHER-WRITTEN-MB", Section: "Members (whole load)", Name: "CPU-LIMIT", Unit: "processors", Definition: "processor time that each member was allowed to use, and the GOMAXPROCS of its Go programs",
			Cell: limited(cpus, func(_ *run.Run, l resources.Limits) (run.Measure, string) {
				return run.Measured(l.CPUs, 0), fmt.Sprintf("%s, GOMAXPROCS %d", l.CPUText(), l.GoMaxProcs())
			})},
		{After: "CPU-LIMIT", Name: "THROTTLED", Unit: "%", Definition: "share of the CPU limit's periods, over the load, in which a member was stopped because it had used up its processor time; the member with the highest value, by name",
			Cell: limited(cpus, func(r *run.Run, l resources.Limits) (run.Measure, string) {
				m, name := r.Machines.Largest(func(m *run.Machine) run.Measure { return m.Throttled(r.Windows.Load, l.Period) })
				return m, fmt.Sprintf("%.2f %% (%s)", m.Value, name)
			})},
		{After: "THROTTLED", Name: "MEMORY-LIMIT", Unit: "bytes", Definition: "memory that each member was allowed to use, including the page cache of its files, and the GOMEMLIMIT of its Go programs",
			Cell: limited(memory, func(_ *run.Run, l resources.Limits) (run.Measure, string) {
				return run.Measured(float64(l.MemoryBytes), 0), fmt.Sprintf("%s, GOMEMLIMIT %s", l.MemoryText(), run.HumanSize(float64(l.GoMemLimit())))
			})},
		{After: "MEMORY-LIMIT", Name: "MEMORY-PEAK", Unit: "bytes", Definition: "largest part of its memory limit that a member used during the load; the member with the highest value, by name",
			Cell: limited(memory, func(r *run.Run, _ resources.Limits) (run.Measure, string) {
				m, name := peak(r)
				return m, run.HumanSize(m.Value) + " (" + name + ")"
			})},
		{After: "MEMORY-PEAK", Name: "MEMORY-PEAK-PAGE-CACHE", Unit: "bytes", Definition: "the part of MEMORY-PEAK that was page cache, which the kernel reclaims when the limit is reached",
			Cell: limited(memory, func(r *run.Run, _ resources.Limits) (run.Measure, string) { return pageCache(r) })},
	}
}

// limited returns numbers for members with limits; has reports whether they had the limit that the
// row describes.
func limited(has func(resources.Limits) bool, cell func(*run.Run, resources.Limits) (run.Measure, string)) func(*run.Run) (run.Measure, string) {
	return func(r *run.Run) (run.Measure, string) {
		switch l := r.Info.Record.Resources; {
		case r.Info.Unattended():
			return run.Inapplicable(run.NoAgents), ""
		case l != nil && has(*l):
			return cell(r, *l)
		}
		return run.Inapplicable("the experiment sets no limit"), ""
	}
}

// peak returns the largest memory, in bytes, that the control group for a member reached under
// load, and the member name.
func peak(r *run.Run) (run.Measure, string) {
	return r.Machines.Largest(func(m *run.Machine) run.Measure { return m.Peak(r.Windows.Load, run.Of(metric.GroupMemoryBytes)) })
}

// pageCache returns the size of the page cache, in bytes, when memory peaked at the member that
// peak names.
func pageCache(r *run.Run) (run.Measure, string) {
	_, name := peak(r)
	for _, m := range r.Machines.Servers {
		if m.Name == name {
			cache := m.PageCache(r.Windows.Load)
			return cache, run.HumanSize(cache.Value) + " (" + name + ")"
		}
	}
	return run.Missing("the memory of a member's control group was not recorded"), ""
}
