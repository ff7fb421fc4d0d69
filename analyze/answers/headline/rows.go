package headline

import (
	"github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// definition states how a row is measured and formatted.
type definition struct {
	name, unit, definition string
	better                 Better
	of                     func(*run.Run) run.Measure
	text                   func(float64) string
	// ofStage means that the number describes only the largest step: the last one with the most
	// clients or the highest rate.
	ofStage bool
	// bounded means that even a single run has an interval.
	bounded bool
}

// Row names that the verdict uses.
const (
	throughputRow = "throughput"
	p99Row        = "p99 latency"
)

// definitions lists the rows in order. To add a row, add it here.
func definitions() []definition {
	const best = "; for a load in steps, its largest step"
	staged := func(get func(*run.Stage) run.Measure) func(*run.Run) run.Measure {
		return func(r *run.Run) run.Measure { return get(r.Stages[run.Largest(r.Stages)]) }
	}
	percentile := func(q float64) func(*run.Run) run.Measure {
		return staged(func(g *run.Stage) run.Measure { return g.Latency.Due.Quantile(q) })
	}
	var list []definition
	for _, rate := range all.Sought() {
		list = append(list, definition{name: rate.Name, unit: "requests/s", better: More, definition: rate.Meaning,
			of: rate.Number, text: func(v float64) string { return run.RateNumber(v) + " /s" }, bounded: true})
	}
	return append(list, []definition{
		{name: throughputRow, unit: "requests/s", better: More, definition: "requests that ended ok per second of the measured part" + best,
			of: staged(func(g *run.Stage) run.Measure { return g.Throughput.Average }), text: withUnit(" /s"), ofStage: true},
		{name: "p50 latency", unit: "ms", better: Less, definition: "latency that half of the measured requests did not exceed" + best,
			of: percentile(.50), text: withUnit(" ms"), ofStage: true},
		{name: p99Row, unit: "ms", better: Less, definition: "latency that 99 % of the measured requests did not exceed; * fewer than ten requests lie above it" + best,
			of: percentile(.99), text: withUnit(" ms"), ofStage: true},
		{name: "success", unit: "%", definition: "share of the measured requests that ended ok, out of all that were due (closed loop: sent)" + best,
			of: staged(func(g *run.Stage) run.Measure { return g.Availability.Success }), text: table.PercentOf, ofStage: true},
		{name: "server CPU per 1,000 requests", unit: "s", better: Less, definition: "CPU time of all members' processes over the whole load, divided by thousands of requests that ended ok",
			of: serverCPU, text: withUnit(" s")},
		{name: "server memory", unit: "bytes", better: Less, definition: "resident memory per server, averaged over the servers in each second; the highest second of the whole load",
			of: serverMemory, text: run.HumanSize},
		{name: "disk bytes per payload byte", unit: "bytes", better: Less, definition: "bytes that all members' processes sent to disk over the whole load, as counted by the kernel, divided by the bytes of keys and values in writes that ended ok; each member writes its own copy",
			of: diskBytes, text: table.Significant},
	}...)
}

func withUnit(unit string) func(float64) string {
	return func(v float64) string { return table.Significant(v) + unit }
}

// serverCPU is in seconds per 1,000 requests.
func serverCPU(r *run.Run) run.Measure {
	if r.Info.Unattended() {
		return run.Missing(run.NoAgents)
	}
	ok := r.Load.Counts.OK
	switch {
	case r.Info.Limited:
		return run.Inapplicable("classic files do not record CPU times")
	case !ok.Known():
		return ok
	case ok.Value == 0:
		return run.Missing("no request ended ok")
	}
	cpu := r.ServerSum(run.Unshared, run.Of(metric.CPUSeconds))
	return cpu.Times(1000 / ok.Value)
}

// serverMemory is the highest per-second mean of resident memory over the servers.
func serverMemory(r *run.Run) run.Measure {
	return r.Machines.MeanPeak(r.Windows.Load, run.Of(metric.RSSBytes))
}

// diskBytes is how many bytes members wrote per byte in keys and values.
func diskBytes(r *run.Run) run.Measure {
	if r.Info.Unattended() {
		return run.Missing(run.NoAgents)
	}
	if r.Info.Limited {
		return run.Inapplicable("classic files do not record the bytes that processes wrote")
	}
	payload := payloadOf(r)
	if !payload.Known() {
		return payload
	}
	written := r.ServerSum(run.Unshared, run.Of(metric.WriteBytes))
	return written.Times(1 / payload.Value)
}

// payloadOf returns the number of bytes in keys and values that the whole load wrote: as counted
// or, for records by older versions, estimated from the mean size.
func payloadOf(r *run.Run) run.Measure {
	share := writingShare(r)
	ok := r.Load.Counts.OK
	switch {
	case share == 0:
		return run.Inapplicable("the load sends no values")
	case !ok.Known():
		return ok
	case ok.Value == 0:
		return run.Missing("no request ended ok")
	}
	if counted := r.Load.Counts.BytesWritten; counted.Known() && counted.Value > 0 {
		return counted
	}
	return run.Measured(ok.Value*share*meanSize(r.Info.Record.Load), ok.Int())
}

// meanSize returns the bytes in an average key and value, according to the size distribution.
func meanSize(l results.Load) float64 { return float64(l.KeySize) + l.MeanValueSize() }

// writingShare is the share of measured ok requests that sent a value.
func writingShare(r *run.Run) float64 {
	l := r.Info.Record.Load
	if len(l.Mix) == 0 {
		if l.Operation.SendsValue() {
			return 1
		}
		return 0
	}
	var writes, all int64
	for _, g := range r.Stages {
		for _, o := range g.Operations {
			all += o.OK
			if workload.Op(o.Operation).SendsValue() {
				writes += o.OK
			}
		}
	}
	if all == 0 {
		return 0
	}
	return float64(writes) / float64(all)
}
