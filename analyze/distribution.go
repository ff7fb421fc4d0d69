package analyze

import (
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/coreos/dbtester/pkg/results"
)

// distribution is the latencies of a load's measured population, in
// milliseconds. What was not recorded is NaN.
type distribution struct {
	n                  int64 // -1 unknown
	mean, sd, min, max float64
	// missing says why what is NaN is not known; "" if nothing was answered.
	missing string
	// quantile returns the value that a share q does not exceed, or why it is not
	// known.
	quantile func(q float64) (q1 quantile, missing string)
}

// quantile is one percentile and what must be said of it.
type quantile struct {
	ms float64
	// few: too few samples lie above it to know it.
	few bool
	// atLeast: it lies among requests that failed or were never answered; ms is the
	// least that it can be.
	atLeast bool
}

// distributionOf returns the distribution of exact sums and of the histogram of
// the same population; a nil histogram leaves the percentiles unknown.
func distributionOf(l results.Latency, h *hdrhistogram.Histogram) *distribution {
	d := &distribution{n: l.Count, mean: math.NaN(), sd: math.NaN(), min: math.NaN(), max: math.NaN()}
	if l.Count > 0 {
		d.mean, d.sd = l.Mean()/1e6, l.StdDev()/1e6
		d.min, d.max = float64(l.MinNS)/1e6, float64(l.MaxNS)/1e6
	}
	d.quantile = func(q float64) (quantile, string) {
		switch {
		case h == nil:
			return quantile{}, "no histogram of the whole load was recorded"
		case h.TotalCount() == 0:
			return quantile{}, "no measured request was answered"
		case l.Count == 0:
			return quantile{float64(results.Quantile(h, q)) / 1e6, !results.Enough(q, h.TotalCount()), false}, ""
		}
		return quantile{float64(l.Quantile(h, q)) / 1e6, !results.Enough(q, l.Count), false}, ""
	}
	return d
}

// unknownDistribution is one of which nothing is known.
func unknownDistribution(why string) *distribution {
	d := distributionOf(results.Latency{}, nil)
	d.missing = why
	d.quantile = func(float64) (quantile, string) { return quantile{}, why }
	return d
}

// known reports whether the distribution has any number.
func (d *distribution) known() bool {
	_, why := d.quantile(.5)
	return why == "" || !math.IsNaN(d.mean) || !math.IsNaN(d.min) || !math.IsNaN(d.max)
}

// unanswered are requests that were due and not answered ok, as the shortest that
// their response can have been.
type unanswered struct {
	h *hdrhistogram.Histogram // of what was sent and failed, or ended without an answer
	n int64                   // never sent
	// least is the shortest response in nanoseconds that the unsent can have had.
	least int64
}

// offeredDistribution returns the percentiles over everything that was offered:
// ok, of which h is the histogram, and lost. A request without an answer stands
// above every answered one, however soon it failed; where a percentile falls among
// those, the value is the least it can be.
func offeredDistribution(ok results.Latency, h *hdrhistogram.Histogram, lost unanswered) *distribution {
	others := results.NewHistogram()
	others.Merge(lost.h)
	if lost.n > 0 {
		// In range: a drain is far below the histogram's maximum.
		_ = others.RecordValues(min(lost.least, int64(results.MaxLatency)), lost.n)
	}
	answered, rest := float64(h.TotalCount()), float64(others.TotalCount())
	all := h.TotalCount() + others.TotalCount()
	d := &distribution{n: all, mean: math.NaN(), sd: math.NaN(), min: math.NaN(), max: math.NaN()}
	d.quantile = func(q float64) (quantile, string) {
		if all == 0 {
			return quantile{}, "no request was offered"
		}
		few := !results.Enough(q, all)
		rank := math.Ceil(q * float64(all))
		if rank <= answered {
			return quantile{float64(ok.Quantile(h, rank/answered)) / 1e6, few, false}, ""
		}
		least := max(bucketStart(results.Quantile(others, (rank-answered)/rest)), ok.MaxNS)
		return quantile{float64(least) / 1e6, few, true}, ""
	}
	return d
}

// bucketStart is the least value that a histogram does not tell from v: a lower
// bound must not be rounded up.
func bucketStart(v int64) int64 {
	h := results.NewHistogram()
	results.Record(h, time.Duration(v))
	return h.Min()
}

// text prints a quantile as the classic tables do.
func (q quantile) text() string {
	s := fmt.Sprintf("%.6f ms", q.ms)
	if q.atLeast {
		s = ">= " + s
	}
	if q.few {
		s += " *"
	}
	return s
}
