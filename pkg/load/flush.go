package load

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// flushAfter is how long after a second's end it is flushed: time for a client
// that read the clock just before to record.
const flushAfter = int64(5e6)

// run flushes every second until ctx ends. The step's end flushes the rest.
func (r *Recorder) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		r.mu.Lock()
		for r.flushed+1 < r.second(r.now()) {
			r.flush(r.flushed+1, false)
		}
		wait := r.fromUnix(r.flushed+2) + flushAfter - r.now()
		r.mu.Unlock()
		timer.Reset(time.Duration(wait))
	}
}

// flush closes a second: it merges the shards, adds to the totals, and gives the
// second to the sink. The last second of a step takes the unsent requests.
func (r *Recorder) flush(sec int64, last bool) {
	tallies := &r.merged.phase
	for _, s := range r.shards {
		r.take(s, sec)
		for p := range tallies {
			tallies[p].merge(&r.spare.phase[p])
			r.spare.phase[p].reset()
		}
	}
	fails := r.fails.take(sec)
	r.flushed = sec
	second := Second{Start: time.Unix(sec, 0).UTC(), Errors: r.errorCounts(sec, fails)}
	for p := range tallies {
		r.interval(&second, sec, p, &tallies[p], &fails.latency[p])
	}
	if n := len(second.Intervals); n > 0 {
		r.close(&second.Intervals[n-1], last)
	}
	r.keep(r.sink.Second(second))
	r.progress(r.progressOf(second))
	for p := range tallies {
		tallies[p].reset()
	}
}

// take swaps a shard's second for the empty spare, with the requests in flight
// that were sent in that second counted.
func (r *Recorder) take(s *shard, sec int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := &s.slots[sec&1]
	s.flushed = sec
	for _, f := range s.flights {
		if w := f.word.Load(); w != 0 && r.second(sentAt(w)) == sec {
			taken.phase[phaseOf(w)].count(w)
		}
	}
	r.spare, *taken = *taken, r.spare
}

func (t *tally) merge(o *tally) {
	t.sent += o.sent
	t.shed += o.shed
	t.queued += o.queued
	t.late += o.late
	for n := range t.ended {
		t.ended[n] += o.ended[n]
	}
	for c := range t.latency {
		t.latency[c].merge(&o.latency[c])
	}
}

// interval appends the row of one phase, if anything happened in it, and adds it
// to the totals.
func (r *Recorder) interval(second *Second, sec int64, p int, t *tally, failed *[numClocks][3]summary) {
	row := results.Interval{
		Second: sec, Step: r.step.Index, Phase: phases[p], Operation: r.operation, Clients: r.clients,
		Due: r.dueIn(sec, p), Sent: t.sent, Shed: t.shed, Queued: t.queued, Late: t.late,
		OK: t.ended[database.OK], Failed: t.ended[database.Failed], Unknown: t.ended[database.Unknown],
	}
	if r.schedule.dueBefore(0) < 0 {
		row.Due = row.Sent
	}
	if row.Due == 0 && row.Sent == 0 && row.Shed == 0 && row.OK+row.Failed+row.Unknown == 0 && p != measure {
		return
	}
	for c := range results.Timings {
		r.latency(&row, &t.latency[c], p, c, database.OK)
		r.latency(&row, &failed[c][database.Failed], p, c, database.Failed)
		r.latency(&row, &failed[c][database.Unknown], p, c, database.Unknown)
		if t.latency[c].latency.Count > 0 {
			second.Latencies = append(second.Latencies, Latency{Series: r.series(p, c, database.OK), Histogram: t.latency[c].histogram})
		}
	}
	r.counts.Offered += row.Due
	r.counts.Sent += row.Sent
	r.counts.Shed += row.Shed
	r.counts.OK += row.OK
	r.counts.Failed += row.Failed
	r.counts.Unknown += row.Unknown
	r.counts.Queued += row.Queued
	r.counts.Late += row.Late
	second.Intervals = append(second.Intervals, row)
}

// latency describes one summary and merges it into the step's totals.
func (r *Recorder) latency(row *results.Interval, s *summary, p, c int, o database.Outcome) {
	if s.latency.Count == 0 {
		return
	}
	r.totals[p][c][o].merge(s)
	out := row.Latency(results.Timings[c], o)
	*out = s.latency
	out.SetPercentiles(s.histogram)
}

// series names the histogram of one phase, clock and outcome of this step.
func (r *Recorder) series(p, c int, o database.Outcome) results.Series {
	return results.Series{
		Timing: results.Timings[c], Operation: r.operation, Outcome: o, Step: r.step.Index, Phase: phases[p],
	}
}

// dueIn counts the requests due in a second that belong to a phase.
func (r *Recorder) dueIn(sec int64, p int) int64 {
	until := min(r.fromUnix(sec+1), r.issueEnd.Load()) - r.stepFrom
	if p < numPhases-1 {
		until = min(until, r.phaseEnd[p])
	}
	n := max(r.schedule.dueBefore(until)-r.due, 0)
	r.due += n
	return n
}

// close sets the gauges of a second on its last row. They follow from the
// counts, so that they always agree with them.
func (r *Recorder) close(row *results.Interval, last bool) {
	backlog := r.counts.Offered - r.counts.Sent - r.counts.Shed - r.counts.Unsent
	if backlog < 0 {
		// A request was sent in the instant in which the load was ended: it was offered.
		row.Due -= backlog
		r.counts.Offered -= backlog
		backlog = 0
	}
	if last && backlog > 0 {
		row.Unsent = backlog
		r.counts.Unsent += backlog
		backlog = 0
	}
	row.Backlog = backlog
	row.InFlight = r.counts.Sent - r.counts.OK - r.counts.Failed - r.counts.Unknown
	if r.isWrite {
		row.KeysCumulative = r.counts.OK
	}
}

// errorCounts lists a second's failures by phase and class.
func (r *Recorder) errorCounts(sec int64, f failed) []results.ErrorCount {
	var list []results.ErrorCount
	order := func(a, b failure) int { return cmp.Or(cmp.Compare(a.phase, b.phase), cmp.Compare(a.class, b.class)) }
	for _, by := range slices.SortedFunc(maps.Keys(f.counts), order) {
		c := *f.counts[by]
		c.Second, c.Step = sec, r.step.Index
		list = append(list, c)
	}
	return list
}

func (r *Recorder) progressOf(s Second) Progress {
	p := Progress{
		Step: r.step, Elapsed: time.Duration(r.now() - r.stepFrom),
		Done:   r.counts.OK + r.counts.Failed + r.counts.Unknown + r.counts.Shed,
		Errors: r.counts.Failed + r.counts.Unknown,
	}
	for _, row := range s.Intervals {
		p.Offered += row.Due
		p.Ended += row.OK + row.Failed + row.Unknown
	}
	for _, l := range s.Latencies {
		if l.Series.Timing == results.TimingResponse || !r.rated {
			p.P50 = time.Duration(results.Quantile(l.Histogram, 0.50))
			p.P99 = time.Duration(results.Quantile(l.Histogram, 0.99))
		}
	}
	return p
}
