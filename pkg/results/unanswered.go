package results

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/histogram"
)

// Unanswered are the requests of a population that did not end ok. They have no
// response time and rank above every request that ended ok.
type Unanswered struct {
	// N counts all of them.
	N int64
	// bounds holds the least response time of each request that may still have been
	// answered later: of an unknown one the time after which it was given up, of an
	// unsent one the time from due until then. Failed and shed ones have none.
	bounds *hdrhistogram.Histogram
	// least is exact and not above any of the bounds.
	least int64
}

// Ranked is the response time at one rank among all requests of a population.
type Ranked struct {
	NS int64
	// AtLeast reports that NS is only a lower bound: the rank is that of an unknown or
	// an unsent request.
	AtLeast bool
	// Never reports that the rank is that of a failed or a shed request, which has no
	// response time.
	Never bool
}

// Population counts all requests that were due, or of a closed loop sent, in the
// measured windows.
func (s *Summary) Population() int64 { return s.Histogram.TotalCount() + s.Unanswered.N }

// Ranked returns the response time that a share q of all requests of the population
// did not exceed. Requests that ended ok come first, then unknown and unsent ones by
// their bounds, then failed and shed ones. Without a request it is zero.
func (s *Summary) Ranked(q float64) Ranked {
	n := s.Population()
	if n == 0 {
		return Ranked{}
	}
	rank, ok := histogram.Rank(q, n), s.Histogram.TotalCount()
	u := &s.Unanswered
	switch {
	case rank <= ok:
		ns := histogram.ValueAtRank(s.Histogram, rank)
		if s.Latency.Count > 0 {
			ns = min(max(ns, s.Latency.MinNS), s.Latency.MaxNS)
		}
		return Ranked{NS: ns}
	case u.bounds == nil || rank-ok > u.bounds.TotalCount():
		return Ranked{Never: true}
	}
	bound := histogram.BucketStart(histogram.ValueAtRank(u.bounds, rank-ok))
	return Ranked{NS: max(bound, u.least, s.Latency.MaxNS), AtLeast: true}
}

// bound adds n requests whose response times are at least ns, which is exact or
// below the truth.
func (u *Unanswered) bound(ns, n int64) {
	if n <= 0 {
		return
	}
	u.own()
	ns = min(max(ns, 0), int64(histogram.MaxLatency))
	// In range by construction.
	_ = u.bounds.RecordValues(ns, n)
	u.atLeast(ns)
}

func (u *Unanswered) own() {
	if u.bounds == nil {
		u.bounds, u.least = histogram.New(), int64(histogram.MaxLatency)
	}
}

func (u *Unanswered) atLeast(ns int64) { u.least = min(u.least, ns) }

// merge adds another population's.
func (u *Unanswered) merge(o *Unanswered) {
	u.N += o.N
	if o.bounds == nil {
		return
	}
	u.own()
	u.bounds.Merge(o.bounds)
	u.atLeast(o.least)
}

// stepOperation is an operation in one step.
type stepOperation struct {
	step      int
	operation string
}

// unanswered finds the measured requests that did not end ok, by step and operation.
func (r *DatabaseRun) unanswered(intervals []Interval, totals map[Series]*hdrhistogram.Histogram) map[stepOperation]*Unanswered {
	rows := map[stepOperation][]*Interval{}
	for i := range intervals {
		if v := &intervals[i]; v.Phase == PhaseMeasure {
			at := stepOperation{v.Step, v.Operation}
			rows[at] = append(rows[at], v)
		}
	}
	out := map[stepOperation]*Unanswered{}
	for at, list := range rows {
		u := &Unanswered{}
		var unknown, unsent int64
		for _, v := range list {
			u.N += v.Failed + v.Unknown + v.Shed + v.Unsent
			unknown += v.Unknown
			unsent += v.Unsent
		}
		timing := r.Timing(at.step)
		u.unknown(unknown, totals[Series{timing, at.operation, Unknown, at.step, PhaseMeasure}], list, timing)
		if unsent > 0 {
			u.unsent(unsent, list, r.givenUp(at.step), int64(r.Load.Drain))
		}
		out[at] = u
	}
	return out
}

// unknown adds n requests whose times until they were given up are in h. Those that
// a killed run did not total have no bound of their own.
func (u *Unanswered) unknown(n int64, h *hdrhistogram.Histogram, rows []*Interval, timing Timing) {
	if h != nil && h.TotalCount() > 0 {
		u.own()
		u.bounds.Merge(h)
		least := h.Max()
		for _, v := range rows {
			if l := v.Latency(timing, Unknown); l.Count > 0 {
				least = min(least, l.MinNS)
			}
		}
		u.atLeast(least)
		n -= h.TotalCount()
	}
	u.bound(0, n)
}

// unsent adds n requests that waited from due until stop, in unix nanoseconds. Which
// requests of the rows they were is not recorded, so they count as those that were
// due last. Every one was due when issuing had not ended yet, so that it waited for
// the drain time at least.
func (u *Unanswered) unsent(n int64, rows []*Interval, stop, drain int64) {
	for i := len(rows) - 1; i >= 0 && n > 0 && stop > 0; i-- {
		last := (rows[i].Second + 1) * int64(time.Second)
		of := min(n, rows[i].Due)
		u.bound(max(stop-last, drain), of)
		n -= of
	}
	u.bound(drain, n)
}

// givenUp is when the unsent requests of a step were given up, in unix nanoseconds;
// 0 if not recorded.
func (r *DatabaseRun) givenUp(step int) int64 {
	for _, s := range r.Steps {
		if s.Index == step && !s.IssueEnd.IsZero() {
			return s.IssueEnd.Add(r.Load.Drain).UnixNano()
		}
	}
	return 0
}
