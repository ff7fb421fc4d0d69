package load

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// records turns a step's merged tallies into its records: rows and histograms for each phase and
// operation, and totals for the whole step.
type records struct {
	ops    []workload.Op
	plan   *plan
	totals []latencies // as in a slot
}

// second makes the records of one second from its tallies, its failures and its due requests, and
// adds the latencies to the totals.
func (r *records) second(sec int64, merged slot, due []int64, fails failed) Second {
	second := Second{Start: time.Unix(sec, 0).UTC(), Errors: r.errorCounts(sec, fails)}
	for n := range merged {
		t := &merged[n]
		row := r.row(sec, n, t, due[n])
		if row.Due+row.Sent+row.Shed+row.Unsent+row.OK+row.Failed+row.Unknown+row.WaitingNS == 0 && n/len(r.ops) != measure {
			continue
		}
		for c := range results.Timings {
			r.latency(&row, &t.latency[c], n, c, workload.OK)
			if fails.latency != nil {
				r.latency(&row, &fails.latency[n][c][workload.Failed], n, c, workload.Failed)
				r.latency(&row, &fails.latency[n][c][workload.Unknown], n, c, workload.Unknown)
				r.totals[n][c][workload.Declined].merge(&fails.latency[n][c][workload.Declined])
				second.Failures = r.failures(second.Failures, &fails.latency[n][c], n, c)
			}
			if t.latency[c].latency.Count > 0 {
				second.Latencies = append(second.Latencies, Latency{Series: r.series(n, c, workload.OK), Histogram: t.latency[c].histogram})
			}
		}
		second.Intervals = append(second.Intervals, row)
	}
	return second
}

// failures appends the histograms for requests that were not ok, by one clock.
func (r *records) failures(list []Latency, of *[len(workload.LatencyOutcomes)]summary, n, c int) []Latency {
	for _, o := range workload.LatencyOutcomes[1:] {
		if of[o].latency.Count > 0 {
			list = append(list, Latency{Series: r.series(n, c, o), Histogram: of[o].histogram})
		}
	}
	return list
}

// row makes the counts in the row for the n-th phase and operation.
func (r *records) row(sec int64, n int, t *tally, due int64) results.Interval {
	row := results.Interval{
		Second: sec, Step: r.plan.Index, Phase: phases[n/len(r.ops)], Operation: string(r.ops[n%len(r.ops)]), Clients: r.plan.Clients,
		Due: due, Sent: t.sent, Shed: t.shed, Unsent: t.unsent, Queued: t.queued, Late: t.late,
		OK: t.ended[workload.OK], Failed: t.ended[workload.Failed], Unknown: t.ended[workload.Unknown], WaitingNS: t.waiting,
		WrittenBytes: t.written,
	}
	if !r.plan.rated() {
		row.Due = row.Sent // in a closed loop, a request is due when it is sent
	}
	return row
}

// latency sets one latency in a row and merges it into the step totals.
func (r *records) latency(row *results.Interval, s *summary, n, c int, o workload.Outcome) {
	if s.latency.Count == 0 {
		return
	}
	r.totals[n][c][o].merge(s)
	out := row.Latency(results.Timings[c], o)
	*out = s.latency
	out.SetPercentiles(s.histogram)
}

// series names the histogram for the n-th phase and operation, one clock and one outcome in this
// step.
func (r *records) series(n, c int, o workload.Outcome) results.Series {
	return results.Series{
		Timing: results.Timings[c], Operation: string(r.ops[n%len(r.ops)]), Outcome: o,
		Step: r.plan.Index, Phase: phases[n/len(r.ops)],
	}
}

// errorCounts lists failures in a second by phase, operation, class and message.
func (r *records) errorCounts(sec int64, f failed) []results.ErrorCount {
	var list []results.ErrorCount
	order := func(a, b failure) int {
		return cmp.Or(cmp.Compare(a.phase, b.phase), cmp.Compare(a.op, b.op), cmp.Compare(a.class, b.class), cmp.Compare(a.message, b.message))
	}
	for _, by := range slices.SortedFunc(maps.Keys(f.counts), order) {
		c := *f.counts[by]
		c.Second, c.Step = sec, r.plan.Index
		list = append(list, c)
	}
	return list
}

// writeTotals passes the step totals to a function and empties them. It returns how many latencies
// were too long for their histogram.
func (r *records) writeTotals(start, end time.Time, write func(Total)) (clamped int64) {
	for n := range r.totals {
		for c := range r.totals[n] {
			for o := range r.totals[n][c] {
				t := &r.totals[n][c][o]
				if t.latency.Count == 0 {
					continue
				}
				write(Total{Latency: Latency{Series: r.series(n, c, workload.LatencyOutcomes[o]), Histogram: t.histogram}, Start: start, End: end})
				if workload.LatencyOutcomes[o] != workload.Declined { // counted as failed
					clamped += t.clamped
				}
				t.reset()
			}
		}
	}
	return clamped
}
