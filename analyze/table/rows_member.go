package table

import (
	"fmt"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/metric"
)

// memberRows show single members, which the classic means hide.
func memberRows() []Row {
	top := func(name, unit, definition string, get run.Gauge, text func(float64) string) Row {
		return Row{Name: name, Unit: unit, Definition: definition + "; the member with the highest value, by name", Ours: true, Cell: attended(memberPeak(get, text))}
	}
	return []Row{
		{Name: "CLIENT-CPU-SECONDS", Unit: "s", Definition: "CPU time of the client over the load", Ours: true, Cell: clientSum(run.Of(metric.CPUSeconds), secondText)},
		{Name: "SERVER-CPU-SECONDS", Unit: "s", Definition: "CPU time of all members' processes over the load", Ours: true, Cell: attended(serverSum(run.Unshared, run.Of(metric.CPUSeconds), secondText))},
		top("MEMBER-MAX-CPU", "%", "highest CPU use of any member in any second of the load; 100 % is one core", run.Of(metric.CPUPercent), percentText),
		top("MEMBER-MAX-MEMORY", "bytes", "largest resident memory of one member during the load", run.Of(metric.RSSBytes), run.HumanSize),
		top("MEMBER-MAX-RSS-ANON", "bytes", "largest anonymous memory of one member during the load: what it allocated, without file pages", run.Of(metric.RSSAnonBytes), run.HumanSize),
		top("MEMBER-PEAK-RSS", "bytes", "largest resident memory of one member since its start, as recorded by the kernel", run.Of(metric.PeakRSSBytes), run.HumanSize),
		{Name: "SERVER-OWN-DISK-READ", Unit: "bytes", Definition: "bytes the members' processes read from disk over the load, as counted by the kernel per process", Ours: true, Cell: attended(serverSum(run.Unshared, run.Of(metric.ReadBytes), run.HumanSize))},
		{Name: "SERVER-OWN-DISK-WRITTEN", Unit: "bytes", Definition: "bytes the members' processes sent to disk over the load, as counted by the kernel per process", Ours: true, Cell: attended(serverSum(run.Unshared, run.Of(metric.WriteBytes), run.HumanSize))},
		{Name: "MEMBER-MAX-DISK-WRITTEN", Unit: "bytes", Definition: "highest SERVER-OWN-DISK-WRITTEN of any member, with the member's name", Ours: true, Cell: attended(memberSumPeak(run.Of(metric.WriteBytes), run.HumanSize))},
		{Name: "MEMBER-LEAST-DISK-FREE", Unit: "bytes", Definition: "least free space during the load on the file system with a member's data; the member with the least, by name", Ours: true, Cell: attended(leastDiskFree)},
		{Name: "CLIENT-MAX-RSS-ANON", Unit: "bytes", Definition: "largest anonymous memory of the client during the load", Ours: true, Cell: clientPeak(run.Of(metric.RSSAnonBytes), run.HumanSize)},
		{Name: "SAMPLES", Unit: "samples", Definition: "samples taken during the load: client + each member", Cell: sampleCounts},
	}
}

// memberPeak prints the largest peak of a gauge over the members, and which member it was.
func memberPeak(get run.Gauge, text func(float64) string) func(*run.Run) Cell {
	return largest(text, func(r *run.Run, m *run.Machine) run.Measure { return m.Peak(r.Windows.Load, get) })
}

// memberSumPeak prints the largest growth of a counter over the members, and which member it was.
func memberSumPeak(get run.Counter, text func(float64) string) func(*run.Run) Cell {
	return largest(text, func(r *run.Run, m *run.Machine) run.Measure { return m.Growth(r.Windows.Load, get) })
}

func largest(text func(float64) string, of func(*run.Run, *run.Machine) run.Measure) func(*run.Run) Cell {
	return func(r *run.Run) Cell {
		m, name := r.Machines.Largest(func(server *run.Machine) run.Measure { return of(r, server) })
		return cellOf(m, func(v float64) string { return text(v) + " (" + name + ")" }).verbatim()
	}
}

// leastDiskFree prints the least free disk space over the members, and which member it was. Records
// by older versions lack it.
func leastDiskFree(r *run.Run) Cell {
	least, name := run.Inapplicable("the free disk was not recorded"), ""
	for _, m := range r.Machines.Servers {
		if free := m.Trough(r.Windows.Load, run.Of(metric.DiskFree)); free.Known() && (name == "" || free.Value < least.Value) {
			least, name = free, m.Name
		}
	}
	return cellOf(least, func(v float64) string { return run.HumanSize(v) + " (" + name + ")" }).verbatim()
}

func sampleCounts(r *run.Run) Cell {
	n := r.Machines.Client.SamplesWithin(r.Windows.Load)
	total := int64(n)
	var members []string
	for _, m := range r.Machines.Servers {
		n := m.SamplesWithin(r.Windows.Load)
		members = append(members, fmt.Sprint(n))
		total += int64(n)
	}
	return number(float64(total), 0, "%d + %s", n, strings.Join(members, ", "))
}
