package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// phases in numeric order.
var phases = [...]results.Phase{results.PhaseWarmUp, results.PhaseMeasure, results.PhaseCoolDown}

const (
	warmUp = iota
	measure
	coolDown
	numPhases
)

// The clocks, in the order of results.Timings.
const (
	response = iota
	service
	numClocks
)

// slot holds a tally for each phase and operation of one second: the first phase's first.
type slot []tally

// at returns the tally for a phase and an operation.
func (s slot) at(phase, op int) *tally { return &s[phase*len(s)/numPhases+op] }

// allocate makes the histograms for the tallies in the half-open range [from, to).
func (s slot) allocate(from, to int, rated bool) {
	for n := from; n < to; n++ {
		s[n].latency[service].allocate()
		if rated {
			s[n].latency[response].allocate()
		}
	}
}

// reset empties the slot and keeps its histograms.
func (s slot) reset() {
	for n := range s {
		s[n].reset()
	}
}

// tally counts one phase and operation of one second.
type tally struct {
	sent, queued, late int64
	shed, unsent       int64
	read, written      int64 // bytes
	waiting            int64 // client time without a server, in nanoseconds; in a phase's first operation
	ended              [3]int64
	latency            [numClocks]summary // of ok requests
}

// countSent counts a flight's request.
func (t *tally) countSent(word int64) {
	t.sent++
	if word&flightQueued != 0 {
		t.queued++
	}
	if word&flightLate != 0 {
		t.late++
	}
}

// absorb adds another tally and empties that one.
func (t *tally) absorb(o *tally) {
	t.sent += o.sent
	t.shed += o.shed
	t.unsent += o.unsent
	t.queued += o.queued
	t.late += o.late
	t.read += o.read
	t.written += o.written
	t.waiting += o.waiting
	for n := range t.ended {
		t.ended[n] += o.ended[n]
	}
	for c := range t.latency {
		t.latency[c].absorb(&o.latency[c])
	}
	o.reset()
}

// reset empties the tally and keeps its histograms.
func (t *tally) reset() {
	t.sent, t.queued, t.late, t.shed, t.unsent, t.read, t.written, t.waiting, t.ended = 0, 0, 0, 0, 0, 0, 0, 0, [3]int64{}
	for c := range t.latency {
		t.latency[c].reset()
	}
}

// latencies holds the latencies for one phase and operation, by clock and outcome. Declined
// requests are also among the failed ones.
type latencies [numClocks][len(workload.LatencyOutcomes)]summary

// allocate makes the histograms for ok requests.
func (l *latencies) allocate(rated bool) {
	l[service][workload.OK].allocate()
	if rated {
		l[response][workload.OK].allocate()
	}
}

// summary holds exact figures and a histogram for a latency.
type summary struct {
	latency   results.Latency
	histogram *hdrhistogram.Histogram
	clamped   int64 // values too long for the histogram
}

func (s *summary) add(ns int64) {
	s.latency.Add(time.Duration(ns))
	if s.histogram == nil {
		s.allocate()
	}
	if histogram.Record(s.histogram, time.Duration(ns)) {
		s.clamped++
	}
}

func (s *summary) merge(o *summary) {
	if o.latency.Count == 0 {
		return
	}
	s.latency = s.latency.Merge(o.latency)
	s.clamped += o.clamped
	if s.histogram == nil {
		s.allocate()
	}
	s.histogram.Merge(o.histogram)
}

// absorb adds another summary and empties that one. An empty summary swaps with the
// other, which costs nothing.
func (s *summary) absorb(o *summary) {
	if s.latency.Count == 0 {
		*s, *o = *o, *s
		return
	}
	s.merge(o)
	o.reset()
}

// allocate makes the histogram if it is missing, and touches all its memory so that it is
// resident.
func (s *summary) allocate() {
	if s.histogram == nil {
		s.histogram = histogram.New()
		s.histogram.Reset()
	}
}

// reset empties the summary and keeps its memory.
func (s *summary) reset() {
	if s.latency.Count > 0 {
		s.latency, s.clamped = results.Latency{}, 0
		s.histogram.Reset()
	}
}

func (s *summary) spread() results.Spread {
	if s.latency.Count == 0 {
		return results.Spread{}
	}
	at := func(q float64) int64 { return s.latency.Quantile(s.histogram, q) }
	return results.Spread{N: s.latency.Count, P50: at(0.50), P99: at(0.99), P999: at(0.999), Max: s.latency.MaxNS}
}
