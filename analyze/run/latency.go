package run

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Clock is the time from which latencies are counted.
type Clock int

const (
	// FromSent: a closed loop, whose latencies are service times.
	FromSent Clock = iota
	// FromDue: a rate, whose latencies are response times, the wait for a free client
	// included.
	FromDue
	// FromSentAtRate: the classic tool at a rate, which left out that wait.
	FromSentAtRate
)

// clockOf returns the clock of a step of our own records.
func clockOf(record *results.DatabaseRun, step int) Clock {
	if record.Timing(step) == results.TimingResponse {
		return FromDue
	}
	return FromSent
}

// Latency holds the latencies of measured requests by one clock.
type Latency struct {
	Clock Clock
	// Due is of all requests that were due, or of a closed loop sent, in the measured
	// window. Those that were not answered rank above all others.
	Due *Distribution
	// OK is of the requests that ended ok alone.
	OK *Distribution
	// Service is of the requests that ended ok, from when they were sent. Only a load
	// with a rate has it.
	Service *Distribution
	// Histogram is of OK, nil if none was recorded.
	Histogram *hdrhistogram.Histogram
}

// Rated reports whether requests were due at a rate, so that waiting counts.
func (l *Latency) Rated() bool { return l.Clock == FromDue }

// unknownLatency has no latency at all, for one reason.
func unknownLatency(clock Clock, why Measure) Latency {
	d := unknownDistribution(why)
	return Latency{Clock: clock, Due: d, OK: d, Service: d}
}

// latencyOf returns the latencies of a summary. A nil service means a closed loop.
func latencyOf(clock Clock, s *results.Summary, service *Distribution) Latency {
	ok := DistributionOf(s.Latency, s.Histogram)
	if s.Unanswered.N+s.Declined.TotalCount() > 0 {
		for _, m := range []*Measure{&ok.Mean, &ok.SD} {
			if m.Known() {
				m.Marks = append(m.Marks, OKOnlyMark)
			}
		}
	}
	if service == nil {
		service = unknownDistribution(Inapplicable("only loads with a rate have it"))
	}
	return Latency{Clock: clock, Due: DueDistribution(s), OK: ok, Service: service, Histogram: s.Histogram}
}

// The marks of percentiles.
const (
	// FewMark: with so few requests above it, the percentile is left to chance.
	FewMark = "* fewer than ten of the n requests lie above this percentile (n < 10/(1-q)), so its value depends on chance"
	// AtLeastMark: the percentile has only a lower bound.
	AtLeastMark = ">= the request at this rank was not answered in time (unknown, unsent): the value is a lower bound, as if each such request had been answered right after it was given up"
	// OKOnlyMark: the number leaves out requests that have no response time.
	OKOnlyMark = "only requests that ended ok: others have no response time"
	// ClassicOKMark: classic files have no place for the other requests.
	ClassicOKMark = "only requests that ended ok: the classic files hold no others"
	// PooledMark: classic files do not separate the steps.
	PooledMark = "all steps together: the classic files do not separate the numbers of clients"
)

// Distribution holds the latencies of a load's measured requests, in ms.
type Distribution struct {
	N                  Measure // requests
	Mean, SD, Min, Max Measure
	// Quantile returns the latency that a share q of the requests did not exceed.
	Quantile func(q float64) Measure
	// answered has the latencies of those that were answered, nil if none was recorded.
	answered *hdrhistogram.Histogram
}

var noAnswer = Missing("no measured request was answered")

// DistributionOf returns the distribution of exact sums and of the histogram of the
// same requests. A nil histogram leaves the percentiles unknown.
func DistributionOf(l results.Latency, h *hdrhistogram.Histogram) *Distribution {
	d := &Distribution{N: Counted(l.Count), Mean: noAnswer, SD: noAnswer, Min: noAnswer, Max: noAnswer, answered: h}
	if l.Count > 0 {
		d.Mean, d.SD = Measured(l.Mean()/1e6, l.Count), Measured(l.StdDev()/1e6, l.Count)
		d.Min, d.Max = Measured(float64(l.MinNS)/1e6, l.Count), Measured(float64(l.MaxNS)/1e6, l.Count)
	}
	d.Quantile = func(q float64) Measure {
		switch {
		case h == nil:
			return noHistogram
		case h.TotalCount() == 0:
			return noAnswer
		case l.Count == 0:
			return percentile(histogram.Quantile(h, q), 0, histogram.Enough(q, h.TotalCount()))
		}
		return percentile(l.Quantile(h, q), l.Count, histogram.Enough(q, l.Count))
	}
	return d
}

var noHistogram = Missing("no histogram of the whole load was recorded")

// percentile returns a percentile of n requests, marked if they are not enough.
func percentile(ns, n int64, enough bool) Measure {
	m := Measured(float64(ns)/1e6, n)
	m.Digits = histogram.Digits
	if !enough {
		m.Marks = append(m.Marks, FewMark)
	}
	return m
}

// unknownDistribution returns a distribution without any number, for one reason.
func unknownDistribution(why Measure) *Distribution {
	return &Distribution{N: why, Mean: why, SD: why, Min: why, Max: why, Quantile: func(float64) Measure { return why }}
}

// Unmeasured returns a distribution that cannot have a number, with the reason.
func Unmeasured(reason string) *Distribution { return unknownDistribution(Inapplicable("%s", reason)) }

// known reports whether the distribution has any number.
func (d *Distribution) known() bool {
	return d.Quantile(.5).Known() || d.Mean.Known() || d.Min.Known() || d.Max.Known()
}

// notAnswered is a rank of the requests that have no response time.
var notAnswered = Measure{
	Words:   "not answered",
	Missing: "the request at this rank failed, was refused or was shed: it has no response time and ranks above all others",
}

// DueDistribution returns the distribution of all requests of a summary that were due.
// Those that were not answered rank above every one that was, however soon they failed:
// see [results.Ranking].
func DueDistribution(s *results.Summary) *Distribution {
	n := s.Population()
	ranking := s.Ranking()
	unrecorded := s.OK > 0 && s.Histogram.TotalCount() == 0
	// The function must not keep the summary, whose parts are large.
	d := unknownDistribution(Missing("a request that was not answered has no response time"))
	d.N = Counted(n)
	if !unrecorded {
		d.answered = ranking.Answered()
	}
	d.Quantile = func(q float64) Measure {
		switch {
		case n == 0:
			return Missing("no request was measured")
		case unrecorded:
			return noHistogram
		}
		ranked := ranking.At(q)
		if ranked.Never {
			return notAnswered
		}
		m := percentile(ranked.NS, n, q == 1 || histogram.Enough(q, n))
		if ranked.AtLeast {
			m.Low, m.High = m.Value, math.Inf(1)
			m.Marks = append(m.Marks, AtLeastMark)
		}
		return m
	}
	if d.Min, d.Max = d.Quantile(0), d.Quantile(1); s.Latency.Count > 0 && (s.Declined.TotalCount() == 0 || s.Declined.Min() >= s.Latency.MinNS) {
		d.Min = Measured(float64(s.Latency.MinNS)/1e6, s.Latency.Count) // exact
	}
	return d
}
