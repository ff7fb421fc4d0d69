package exposition

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/schedule"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// Part counts the records from a part of a load, or from a whole one. Its methods are safe for
// concurrent use and never wait for a reader.
type Part struct {
	share      schedule.Part
	mu         sync.Mutex // guards the fields below
	now        Load
	began      bool
	totals     results.Totals
	operations []operation
}

// operation counts requests for an operation.
type operation struct {
	name    string
	totals  results.Totals
	timings [len(results.Timings)]spread // in the order of results.Timings
}

// spread counts latencies by bucket bound.
type spread struct {
	n, sumNS int64
	atMost   [len(bounds)]int64
}

// bounds limits the latency buckets from above, in seconds.
var bounds = [...]float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// NewPart returns a Part without records.
func NewPart(spec load.Spec) *Part {
	p, ops := &Part{share: spec.Part}, spec.Operations()
	for _, op := range ops {
		p.operations = append(p.operations, operation{name: string(op)})
	}
	return p
}

// Progress takes the progress after a second; its step belongs to the whole load.
func (p *Part) Progress(now load.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now.Ticks = nil // valid only during the call
	now.Step.Clients = int(p.share.Count(int64(now.Step.Clients)))
	now.Step.Rate /= float64(max(p.share.Of, 1))
	p.now.Last, p.began = now, true
	p.now.Offered += now.Offered
}

// Second counts one second.
func (p *Part) Second(s load.Second) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range s.Intervals {
		row := &s.Intervals[i]
		p.totals.Add(row)
		if op := p.of(row.Operation); op != nil {
			op.totals.Add(row)
			for t, timing := range results.Timings {
				ok := row.Latency(timing, workload.OK)
				op.timings[t].n += ok.Count
				op.timings[t].sumNS += ok.SumNS
			}
		}
	}
	for _, l := range s.Latencies {
		op := p.of(l.Series.Operation)
		for t, timing := range results.Timings {
			if op != nil && timing == l.Series.Timing {
				op.timings[t].add(histogram.BucketsOf(l.Histogram))
			}
		}
	}
}

// of returns the counts for an operation, nil if the load has no such operation. mu is held.
func (p *Part) of(name string) *operation {
	for i := range p.operations {
		if p.operations[i].name == name {
			return &p.operations[i]
		}
	}
	return nil
}

// add adds latencies for a second.
func (s *spread) add(buckets histogram.Buckets) {
	for _, b := range buckets {
		for i := range bounds {
			if float64(b.Value) <= bounds[i]*1e9 {
				s.atMost[i] += b.Count
			}
		}
	}
}

// Parts describes and sends metrics for parts of loads, with some labels: those in [Loads], and
// more.
type Parts struct {
	loads    *Loads
	numbers  numbers[results.Totals]
	outcomes *prometheus.Desc
	latency  *prometheus.Desc
}

// ofPart declares the part numbers that [ofLoad] lacks.
func ofPart() []declared[results.Totals] {
	counter := prometheus.CounterValue
	return []declared[results.Totals]{
		{"load_sent_total", "Requests that were sent.", counter, func(t results.Totals) float64 { return float64(t.Sent) }},
		{"load_unsent_total", "Requests that were due and not sent when their step ended.", counter, func(t results.Totals) float64 { return float64(t.Unsent) }},
		{"load_queued_total", "Requests that were sent after they were due because every client was busy.", counter, func(t results.Totals) float64 { return float64(t.Queued) }},
		{"load_late_total", "Requests that the client itself sent more than a millisecond after they were due.", counter, func(t results.Totals) float64 { return float64(t.Late) }},
	}
}

// outcomes partition the requests: their counts sum to load_requests_total.
var outcomes = [...]struct {
	name  string
	count func(*results.Totals) int64
}{
	{"ok", func(t *results.Totals) int64 { return t.OK }},
	{"failed", func(t *results.Totals) int64 { return t.Failed }},
	{"unknown", func(t *results.Totals) int64 { return t.Unknown }},
	{"shed", func(t *results.Totals) int64 { return t.Shed }},
}

// NewParts returns part metrics with some labels.
func NewParts(labels ...string) *Parts {
	return &Parts{
		loads: NewLoads(labels...), numbers: numbersOf(ofPart(), labels),
		outcomes: Desc("load_outcomes_total", "Requests by operation and outcome: ok, failed, unknown, and shed, which were never sent.", with(labels, "operation", "outcome")...),
		latency:  Desc("load_latency_seconds", "Latency of the ok requests by operation and timing: response time from when a request was due, service time from when it was sent.", with(labels, "operation", "timing")...),
	}
}

// Describe sends all descriptions.
func (m *Parts) Describe(out chan<- *prometheus.Desc) {
	m.loads.Describe(out)
	m.numbers.describe(out)
	out <- m.outcomes
	out <- m.latency
}

// Send sends the part metrics, after its first second.
func (m *Parts) Send(out chan<- prometheus.Metric, p *Part, labels ...string) {
	p.mu.Lock()
	now, began, totals, operations := p.now, p.began, p.totals, slices.Clone(p.operations)
	p.mu.Unlock()
	if !began {
		return
	}
	m.loads.Send(out, now, labels...)
	m.numbers.send(out, totals, labels)
	for i := range operations {
		op := &operations[i]
		for _, o := range outcomes {
			Send(out, m.outcomes, prometheus.CounterValue, float64(o.count(&op.totals)), with(labels, op.name, o.name)...)
		}
		for t, timing := range results.Timings {
			if s := &op.timings[t]; s.n > 0 {
				h, err := prometheus.NewConstHistogram(m.latency, uint64(s.n), float64(s.sumNS)/1e9, s.buckets(), with(labels, op.name, string(timing))...)
				sendOr(out, m.latency, h, err)
			}
		}
	}
}

// buckets returns the counts by bound.
func (s *spread) buckets() map[float64]uint64 {
	all := map[float64]uint64{}
	for i, n := range s.atMost {
		all[bounds[i]] = uint64(n)
	}
	return all
}
