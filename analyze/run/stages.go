package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Stage is the part of a load with one client count and one rate: all steps with the same kind of
// requests. Numbers from several stages are never pooled.
type Stage struct {
	// Label names the clients, the rate or both; empty if there is only one stage.
	Label   string
	Clients int
	Rate    [2]float64 // at start and end, requests per second; 0: closed loop
	// Down means that the stage is on the way back of a sweep.
	Down bool
	// Steps are step indexes.
	Steps      []int
	Throughput Throughput
	Latency    Latency
	// Availability and Places cover the same requests.
	Availability Availability
	Places       Places
	// Operations split the requests in the stage by operation; empty in a classic run.
	Operations []results.OperationSummary
}

// stagesOf groups steps by clients and rate, in load order.
func stagesOf(steps []results.Step) (out []*Stage) {
	for _, s := range steps {
		at := slices.IndexFunc(out, func(g *Stage) bool { return g.Clients == s.Clients && g.Rate == rateOf(s) && g.Down == s.Down })
		if at < 0 {
			at = len(out)
			out = append(out, &Stage{Clients: s.Clients, Rate: rateOf(s), Down: s.Down})
		}
		out[at].Steps = append(out[at].Steps, s.Index)
	}
	several := func(of func(*Stage) any) bool {
		return slices.ContainsFunc(out, func(g *Stage) bool { return of(g) != of(out[0]) })
	}
	clients, rates := several(func(g *Stage) any { return g.Clients }), several(func(g *Stage) any { return g.Rate })
	for _, g := range out {
		g.Label = stageLabel(g.Clients, g.Rate, clients, rates) + downText(g.Down)
	}
	return out
}

// stageLabel names the clients, the rate or both, depending on which vary within the load.
func stageLabel(clients int, rate [2]float64, clientsDiffer, ratesDiffer bool) string {
	var parts []string
	if clientsDiffer {
		parts = append(parts, ClientsText(clients))
	}
	if ratesDiffer {
		parts = append(parts, RateText(rate[0], rate[1]))
	}
	return strings.Join(parts, ", ")
}

// downText is the label suffix for the way back of a sweep.
func downText(down bool) string {
	if down {
		return ", down"
	}
	return ""
}

// Staged reports whether the load had several stages, so that no number covers all requests.
func (r *Run) Staged() bool { return len(r.Stages) > 1 }

// Rated reports whether any stage had a rate.
func (r *Run) Rated() bool {
	return slices.ContainsFunc(r.Stages, func(g *Stage) bool { return g.Latency.Rated() })
}

// Closed reports whether any stage was a closed loop.
func (r *Run) Closed() bool {
	return slices.ContainsFunc(r.Stages, func(g *Stage) bool { return !g.Latency.Rated() })
}

// stepsOf returns the steps in a record. Steps that a killed run lists only in its summary are
// returned as planned.
func stepsOf(record *results.DatabaseRun, summaries []results.StepSummary) []results.Step {
	steps := slices.Clone(record.Steps)
	planned := record.Load.Stretches()
	for _, s := range summaries {
		if slices.ContainsFunc(steps, func(r results.Step) bool { return r.Index == s.Step }) {
			continue
		}
		step := results.Step{Index: s.Step, Step: workload.Step{Clients: s.Clients}}
		if s.Step < len(planned) {
			step.Step = planned[s.Step]
			step.Clients = s.Clients
		}
		steps = append(steps, step)
	}
	slices.SortStableFunc(steps, func(a, b results.Step) int { return cmp.Compare(a.Index, b.Index) })
	return steps
}

// SpansOf returns a stage's measured windows.
func (r *Run) SpansOf(g *Stage) (spans []Span) {
	if len(r.Stages) == 1 {
		return r.Windows.MeasuredSpans()
	}
	for _, s := range r.Info.Record.Steps {
		if slices.Contains(g.Steps, s.Index) && !s.End.IsZero() {
			from, to := r.Info.Record.Measured(s)
			spans = append(spans, Span{from.UnixNano(), to.UnixNano()})
		}
	}
	return spans
}

// stageSpans returns the measured windows of each stage in a load with several.
func (r *Run) stageSpans() (spans [][]Span) {
	if !r.Staged() {
		return nil
	}
	for _, g := range r.Stages {
		spans = append(spans, r.SpansOf(g))
	}
	return spans
}

// ServerRate is a counter's growth per second over all member processes in the measured windows of
// a stage.
func (r *Run) ServerRate(g *Stage, n metric.Name) Measure {
	sum, seconds := Measured(0, 0), 0.0
	switch {
	case r.Info.Unattended():
		return Missing(NoAgents)
	case r.Info.Limited:
		return Inapplicable("classic files do not record this counter")
	case len(r.Machines.Servers) == 0:
		return noServer
	}
	for _, span := range r.SpansOf(g) {
		for _, server := range r.Machines.Servers {
			one := server.GrowthWithin(span, Of(n))
			if !one.Known() {
				return one
			}
			sum.Value += one.Value
			sum.N += one.N
			sum.Marks = append(sum.Marks, one.Marks...)
		}
		seconds += span.seconds()
	}
	if seconds == 0 {
		return Missing("the measured window was not recorded")
	}
	sum.Marks = Distinct(sum.Marks)
	return sum.Times(1 / seconds)
}

// CPUPer1000 is the CPU time that all member processes used in a stage's measured windows, in
// seconds per thousand ok requests in those windows.
func (r *Run) CPUPer1000(g *Stage) Measure {
	cpu, ok := r.ServerRate(g, metric.CPUSeconds), g.Throughput.Average
	switch {
	case !cpu.Known():
		return cpu
	case !ok.Known():
		return ok
	case ok.Value == 0:
		return Missing("no request ended ok")
	}
	return cpu.Times(1000 / ok.Value)
}

// ServerMemory is the highest per-second mean of resident memory over the servers in a stage's
// measured windows, in bytes.
func (r *Run) ServerMemory(g *Stage) Measure {
	largest := Missing("no second of the step was sampled on every server")
	for _, span := range r.SpansOf(g) {
		one := r.Machines.MeanPeak(span, Of(metric.RSSBytes))
		if !one.Known() {
			return one
		}
		if !largest.Known() || one.Value > largest.Value {
			largest = one
		}
	}
	return largest
}

// ClientStage is the part of a load with one client count.
type ClientStage struct {
	Clients int
	// Throughput is in ok requests per second. Latency is their mean in ms.
	Throughput, Latency Measure
	// Unix are the whole seconds inside the stage, except on the way back of a sweep.
	Unix map[int64]bool
}

// ByClients groups a load by client count, ascending. The numbers come from the stages or, for
// classic files, from the seconds that belong to one step alone. The way back of a sweep is left
// out.
func (r *Run) ByClients() []ClientStage {
	there := func(s Second) bool { return !r.Windows.WayBack(s.Unix) }
	stages := byClients(r.Load.Seconds, func(s Second) bool { return r.Windows.Whole(s.Unix) && there(s) })
	for _, g := range byClients(r.Load.Seconds, there) {
		if !slices.ContainsFunc(stages, func(w ClientStage) bool { return w.Clients == g.Clients }) {
			stages = append(stages, g)
		}
	}
	slices.SortFunc(stages, func(a, b ClientStage) int { return a.Clients - b.Clients })
	if r.PooledStages {
		return stages
	}
	for i := range stages {
		one := &stages[i]
		of := slices.DeleteFunc(slices.Clone(r.Stages), func(g *Stage) bool { return g.Clients != one.Clients || g.Down })
		switch len(of) {
		case 0:
		case 1:
			one.Throughput, one.Latency = of[0].Throughput.Average, of[0].Latency.OK.Mean
		default:
			one.Throughput = Missing("the steps with %s had several rates", ClientsText(one.Clients))
			one.Latency = one.Throughput
		}
	}
	return stages
}

// byClients groups the seconds that keep accepts by client count.
func byClients(seconds []Second, keep func(Second) bool) []ClientStage {
	type sums struct {
		ok, seconds float64
		latency     Sums
	}
	var out []ClientStage
	var all []sums
	for _, s := range seconds {
		if !keep(s) {
			continue
		}
		at := slices.IndexFunc(out, func(g ClientStage) bool { return g.Clients == s.Clients })
		if at < 0 {
			at = len(out)
			out = append(out, ClientStage{Clients: s.Clients, Unix: map[int64]bool{}})
			all = append(all, sums{})
		}
		all[at].ok += s.OK
		all[at].seconds++
		all[at].latency.add(s.Latency)
		out[at].Unix[s.Unix] = true
	}
	for i, s := range all {
		out[i].Throughput = Measured(s.ok/s.seconds, int64(s.ok))
		out[i].Latency = Missing("not recorded")
		if s.latency.Count > 0 {
			out[i].Latency = Measured(s.latency.Sum/s.latency.Count, int64(s.latency.Count))
		}
	}
	return out
}

// stepChanges returns the start of every step if the load had several steps.
func (r *Run) stepChanges() (out []Change) {
	for i, s := range r.Info.Record.Steps {
		if s.Start.IsZero() || len(r.Info.Record.Steps) < 2 {
			continue
		}
		label := r.StepLabel(s)
		if !r.Load.Stepped() && !r.Info.SteppedRates() {
			label = fmt.Sprintf("step %d", i+1)
		}
		out = append(out, Change{At: s.Start.UnixNano(), Label: label})
	}
	return out
}

// clientChanges returns when the seconds start in which the client count changed.
func (r *Run) clientChanges() (out []Change) {
	if !r.Load.Stepped() {
		return nil
	}
	before := -1
	for _, s := range r.Load.PerSecond() {
		if s.Clients != before {
			out = append(out, Change{At: s.Unix * 1e9, Label: ClientsText(s.Clients)})
		}
		before = s.Clients
	}
	return out
}
