package run

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Clock is the moment from which a latency is counted.
type Clock int

const (
	// FromSent: a closed loop, whose latencies are service times.
	FromSent Clock = iota
	// FromDue: a load with a rate, whose latencies are response times and include the wait for a
	// free client.
	FromDue
	// FromSentAtRate: a load with a rate, run by the classic tool, which did not count the wait for
	// a free client.
	FromSentAtRate
)

// clockOf returns the clock of a step; it is for our own records only.
func clockOf(record *results.DatabaseRun, step int) Clock {
	if record.Timing(step) == results.TimingResponse {
		return FromDue
	}
	return FromSent
}

// Latency holds latencies for measured requests, all by one clock.
type Latency struct {
	Clock Clock
	// Due covers all requests due (in a closed loop: sent) in the measured window. Unanswered
	// requests rank above all others.
	Due *Distribution
	// OK covers only the requests that ended ok.
	OK *Distribution
	// Service covers the requests that ended ok, timed from when they were sent. Only loads with a
	// rate have it.
	Service *Distribution
	// Histogram is the histogram behind OK, or nil.
	Histogram *hdrhistogram.Histogram
}

// Rated reports whether requests were due at a rate, so that latencies include waiting.
func (l *Latency) Rated() bool { return l.Clock == FromDue }

// unknownLatency returns latencies that are all missing for one reason.
func unknownLatency(clock Clock, why Measure) Latency {
	d := unknownDistribution(why)
	return Latency{Clock: clock, Due: d, OK: d, Service: d}
}

// latencyOf returns the latencies in a summary. A nil service means a closed loop.
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

// Marks on percentiles.
const (
	// FewMark: too few requests lie above the percentile, so it depends on chance.
	FewMark = "* fewer than ten of the n requests lie above this percentile (n < 10/(1-q)), so its value depends on chance"
	// AtLeastMark: only a lower bound is known.
	AtLeastMark = ">= the request at this rank was not answered in time (unknown, unsent): the value is a lower bound, as if each such request had been answered right after it was given up"
	// OKOnlyMark: requests without a response time are left out.
	OKOnlyMark = "only requests that ended ok: others have no response time"
	// ClassicOKMark: classic files hold only ok requests.
	ClassicOKMark = "only requests that ended ok: the classic files hold no others"
	// PooledMark: classic files do not separate the steps.
	PooledMark = "all steps together: the classic files do not separate the numbers of clients"
)

// Distribution holds latencies for measured requests in ms.
type Distribution struct {
	N                  Measure // requests
	Mean, SD, Min, Max Measure
	// Quantile returns the latency that a share q of the requests did not exceed.
	Quantile func(q float64) Measure
	// answered holds the latencies for answered requests, or nil.
	answered *hdrhistogram.Histogram
}

var noAnswer = Missing("no measured request was answered")

// DistributionOf combines exact sums with a histogram of the same requests. A nil histogram leaves
// the percentiles unknown.
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

// percentile returns a percentile among n requests, with a mark if they are too few.
func percentile(ns, n int64, enough bool) Measure {
	m := Measured(float64(ns)/1e6, n)
	m.Digits = histogram.Digits
	if !enough {
		m.Marks = append(m.Marks, FewMark)
	}
	return m
}

// unknownDistribution returns a distribution whose numbers are all missing for one reason.
func unknownDistribution(why Measure) *Distribution {
	return &Distribution{N: why, Mean: why, SD: why, Min: why, Max: why, Quantile: func(float64) Measure { return why }}
}

// Unmeasured returns a distribution without numbers, for the given reason.
func Unmeasured(reason string) *Distribution { return unknownDistribution(Inapplicable("%s", reason)) }

// known reports whether the distribution has any number.
func (d *Distribution) known() bool {
	return d.Quantile(.5).Known() || d.Mean.Known() || d.Min.Known() || d.Max.Known()
}

// notAnswered is the value at a rank whose request was never answered.
var notAnswered = Measure{
	Words:   "not answered",
	Missing: "the request at this rank failed, was refused or was shed: it has no response time and ranks above all others",
}

// DueDistribution returns the distribution over the due requests in a summary. An unanswered
// request ranks above every answered one, no matter how soon it failed: see [results.Ranking].
func DueDistribution(s *results.Summary) *Distribution {
	n := s.Population()
	ranking := s.Ranking()
	unrecorded := s.OK > 0 && s.Histogram.TotalCount() == 0
	// The closure below must not retain the summary, whose parts are large.
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
		d.Min = Measured(float64(s.Latency.MinNS)/1e6, s.Latency.Count) // exact, unlike the minimum of a histogram
	}
	return d
}
