// Package run models one recorded run: its identity, windows, load, latencies and machines, read
// from a result folder or from classic files. Every number in a report is computed here; table and
// chart only display it.
package run

import (
	"slices"

	"github.com/coreos/dbtester/analyze/run/packed"
	"github.com/coreos/dbtester/pkg/results"
)

// Run is everything recorded about one database in one run: one column of a report. Two readers
// fill it, [FromFolder] and [FromClassic]. A number that was not recorded is a [Measure] with the
// reason. Gaps lists missing records.
type Run struct {
	Info    Info
	Windows Windows
	Load    Load
	// Stages are the parts of the load that have their own numbers; at least one.
	Stages []*Stage
	// PooledStages means that the records do not separate the steps, so the only stage covers all
	// of them.
	PooledStages bool
	Heat         Heat
	Machines     Machines
	// Unsteady are the marks on measured windows whose level changed.
	Unsteady []results.Mark
	// Stalls are the stretches in which far fewer requests ended ok than were due.
	Stalls Stalls
	// Ageing shows how numbers drift during the load.
	Ageing Ageing
	// damage holds the marks on files that differ from the records.
	damage []results.Mark
	// Capacity is nil unless the run was a capacity search.
	Capacity *Capacity
	Gaps     Gaps
	// Dir is the folder with its records; "" for classic files.
	Dir string
}

// Start is the unix second in which the load began.
func (r *Run) Start() int64 {
	if r.Windows.Load.From != 0 {
		return floorDiv(r.Windows.Load.From, 1e9)
	}
	if len(r.Load.Seconds) > 0 {
		return r.Load.Seconds[0].Unix
	}
	return 0
}

// Origin is when the load started in unix nanoseconds, and zero on time axes.
func (r *Run) Origin() int64 {
	if r.Windows.Load.From != 0 {
		return r.Windows.Load.From
	}
	return r.Start() * 1e9
}

// Empty reports whether no part of a complete run could be read.
func (r *Run) Empty() bool {
	records := len(r.Load.Seconds) > 0 || r.Load.Elapsed.Known() || r.Machines.Client.Samples.Len() > 0 || r.Machines.diskFile
	for _, g := range r.Stages {
		records = records || g.Latency.OK.known()
	}
	for _, m := range r.Machines.Servers {
		records = records || m.Samples.Len() > 0
	}
	return !records && r.Info.Record.State == results.StateComplete
}

// Mixed reports whether the load had several operations.
func (r *Run) Mixed() bool {
	several := func(g *Stage) bool { return len(g.Operations) > 1 }
	return slices.ContainsFunc(r.Stages, several) || len(r.Info.Record.Load.Mix) > 1
}

// StepLabel names a step by the settings that vary within the load: its clients, its rate, or both.
func (r *Run) StepLabel(s results.Step) string {
	rates := r.Info.SteppedRates()
	return stageLabel(s.Clients, rateOf(s), r.Load.Stepped() || !rates, rates) + downText(s.Down)
}

// ForgetSamples drops all samples except the last one of each machine. Tables and series need them;
// numbers already computed remain known.
func (r *Run) ForgetSamples() {
	m := &r.Machines
	m.Client.Samples.Forget()
	for i := range m.Servers {
		m.Servers[i].Samples.Forget()
	}
}

// Forget also drops the data that only figures need: heat maps and the metrics that members
// reported.
func (r *Run) Forget() {
	r.ForgetSamples()
	r.Heat.Bins = nil
	for i := range r.Machines.Servers {
		r.Machines.Servers[i].Own.Answers = packed.Answers{}
	}
}
