package results

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Ranked is the response time at one rank among all requests in a population.
type Ranked struct {
	NS int64
	// AtLeast reports that NS is only a lower bound, because an unknown or an unsent request
	// has the rank.
	AtLeast bool
	// Never reports that a failed or a shed request, which has no response time, has the rank.
	Never bool
}

// Ranking has the response times of a population by rank: first the answered requests, ok or
// declined, in order; then the unknown and unsent ones; then the failed and shed ones.
//
// A rank in the first group has the time at that rank among the answered requests. A rank in the
// second has a lower bound: the value at that rank among the times of the answered requests and the
// least times for the unknown and unsent ones, all in one order. The bound is certain, because each
// unknown or unsent request took at least its own bound, whenever it was answered, if ever. It is
// the largest certain bound, because each may have been answered at its own bound. One slow answer
// does not raise it. It can be below the time at a lower rank, which holds only because unanswered
// requests rank above that rank. A rank in the third group has no response time.
type Ranking struct {
	n                  int64
	answered           *hdrhistogram.Histogram
	fastest, slowest   int64 // among the answered requests
	bounds             int64
	answeredAndBounded *hdrhistogram.Histogram
	least              int64 // among the bounds
}

// Population counts all requests due, or in a closed loop sent, in the measured windows.
func (s *Summary) Population() int64 {
	return s.Histogram.TotalCount() + s.Declined.TotalCount() + s.Unanswered.N
}

// Ranking returns the response times in the whole population.
func (s *Summary) Ranking() *Ranking {
	r := &Ranking{n: s.Population(), answered: s.Histogram, slowest: int64(histogram.MaxLatency), least: s.Unanswered.least}
	if s.Latency.Count > 0 {
		r.fastest, r.slowest = s.Latency.MinNS, s.Latency.MaxNS
	}
	if s.Declined.TotalCount() > 0 {
		r.answered = union(s.Histogram, s.Declined)
		r.fastest, r.slowest = 0, max(r.slowest, s.Declined.Max())
	}
	if b := s.Unanswered.bounds; b != nil {
		r.bounds, r.answeredAndBounded = b.TotalCount(), union(r.answered, b)
	}
	return r
}

// union returns a new histogram with the values from two histograms.
func union(a, b *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	h := histogram.New()
	h.Merge(a)
	h.Merge(b)
	return h
}

// Answered has response times for the answered requests. It must not be changed.
func (r *Ranking) Answered() *hdrhistogram.Histogram { return r.answered }

// At returns the response time that a share q of the population did not exceed. Without a request
// it is zero.
func (r *Ranking) At(q float64) Ranked {
	if r.n == 0 {
		return Ranked{}
	}
	rank, answered := histogram.Rank(q, r.n), r.answered.TotalCount()
	switch {
	case rank <= answered:
		return Ranked{NS: min(max(histogram.ValueAtRank(r.answered, rank), r.fastest), r.slowest)}
	case rank > answered+r.bounds:
		return Ranked{Never: true}
	}
	bound := histogram.BucketStart(histogram.ValueAtRank(r.answeredAndBounded, rank))
	return Ranked{NS: max(bound, r.least), AtLeast: true}
}
