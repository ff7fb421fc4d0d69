package load

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// flushAfter is how long after a second's end it is flushed: time for a client
// that read the clock just before to record.
const flushAfter = int64(5e6)

// collectEvery is how long garbage may lie. A load leaves hardly any, so that the
// runtime would not collect for two minutes what samples, heartbeats and flushes
// leave each second, and memory would grow with the length of the load. It is seldom
// enough to cost less than a thousandth of a processor.
const collectEvery = 10 * time.Second

// run flushes every second until ctx ends. The step's end flushes the rest.
func (r *Recorder) run(ctx context.Context) {
	var collected debug.GCStats
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		r.flushing.Lock()
		for r.flushed+1 < r.second(r.now()) {
			r.flush(r.flushed+1, false)
		}
		wait := r.fromUnix(r.flushed+2) + flushAfter - r.now()
		r.flushing.Unlock()
		timer.Reset(time.Duration(wait))
		if debug.ReadGCStats(&collected); time.Since(collected.LastGC) >= collectEvery {
			runtime.GC()
		}
	}
}

// flush closes a second: it merges the shards, adds to the totals, and gives the
// second to the sink. The last one of a step settles its accounts.
func (r *Recorder) flush(sec int64, last bool) {
	for _, s := range r.shards {
		r.take(s, sec)
		for n := range r.merged {
			r.merged[n].absorb(&r.spare[n])
		}
	}
	fails := r.fails.take(sec)
	second, progress := r.rows(sec, last, fails)
	r.keep(r.sink.Second(second))
	r.progress(progress)
	for n := range r.merged {
		r.merged[n].reset()
	}
}

// rows makes the rows of a second that was merged, and adds them to the counts.
func (r *Recorder) rows(sec int64, last bool, fails failed) (Second, Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flushed = sec
	second := Second{Start: time.Unix(sec, 0).UTC(), Errors: r.errorCounts(sec, fails)}
	for p := range phases {
		due := r.dueIn(sec, p)
		for o := range r.ops {
			r.interval(&second, sec, p, o, due[o], fails)
		}
	}
	r.foresee()
	if last {
		r.settle(second.Intervals)
	}
	r.gauges(second.Intervals)
	return second, r.progressOf(second)
}

// take swaps a shard's second for the empty spare, with the requests in flight
// that were sent in that second counted.
func (r *Recorder) take(s *shard, sec int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := &s.slots[sec&1]
	s.flushed = sec
	for _, f := range s.flights {
		w := f.word.Load()
		if w == 0 || w&flightCounted != 0 || r.second(sentAt(w)) > sec {
			continue
		}
		// A mark that fails to be set because the deadline's was set at this moment is
		// no loss: the next flush counts the request, or its end.
		if f.word.CompareAndSwap(w, w|flightCounted) {
			taken.at(phaseOf(w), opOf(w)).count(w)
		}
	}
	r.spare, *taken = *taken, r.spare
}

// absorb adds another tally, and empties that.
func (t *tally) absorb(o *tally) {
	t.sent += o.sent
	t.shed += o.shed
	t.unsent += o.unsent
	t.queued += o.queued
	t.late += o.late
	t.read += o.read
	for n := range t.ended {
		t.ended[n] += o.ended[n]
	}
	for c := range t.latency {
		t.latency[c].absorb(&o.latency[c])
	}
	o.reset()
}

// interval appends the row of one phase and operation, if anything happened in
// it, and adds it to the counts.
func (r *Recorder) interval(second *Second, sec int64, p, o int, due int64, fails failed) {
	n := p*len(r.ops) + o
	t := &r.merged[n]
	row := results.Interval{
		Second: sec, Step: r.step.Index, Phase: phases[p], Operation: string(r.ops[o]), Clients: r.clients,
		Due: due, Sent: t.sent, Shed: t.shed, Unsent: t.unsent, Queued: t.queued, Late: t.late,
		OK: t.ended[database.OK], Failed: t.ended[database.Failed], Unknown: t.ended[database.Unknown],
	}
	if !r.rated {
		row.Due = row.Sent // a request of a closed loop is due when it is sent
	}
	if row.Due+row.Sent+row.Shed+row.Unsent+row.OK+row.Failed+row.Unknown == 0 && p != measure {
		return
	}
	for c := range results.Timings {
		r.latency(&row, &t.latency[c], n, c, database.OK)
		if fails.latency != nil {
			r.latency(&row, &fails.latency[n][c][database.Failed], n, c, database.Failed)
			r.latency(&row, &fails.latency[n][c][database.Unknown], n, c, database.Unknown)
		}
		if t.latency[c].latency.Count > 0 {
			second.Latencies = append(second.Latencies, Latency{Series: r.series(n, c, database.OK), Histogram: t.latency[c].histogram})
		}
	}
	r.counts.BytesRead += t.read
	r.count(&row, o)
	second.Intervals = append(second.Intervals, row)
}

// count adds a row to the counts of all steps.
func (r *Recorder) count(row *results.Interval, o int) {
	r.counts.Offered += row.Due
	r.counts.Sent += row.Sent
	r.counts.Shed += row.Shed
	r.counts.Unsent += row.Unsent
	r.counts.OK += row.OK
	r.counts.Failed += row.Failed
	r.counts.Unknown += row.Unknown
	r.counts.Queued += row.Queued
	r.counts.Late += row.Late
	r.backlog[o] += row.Due - row.Sent - row.Shed - row.Unsent
	r.sent[o] += row.Sent
	r.inFlight[o] += row.Sent - row.OK - row.Failed - row.Unknown
	if o == r.creates {
		r.created += row.OK
		r.perhaps += row.Unknown
	}
}

// latency describes one summary and merges it into the step's totals.
func (r *Recorder) latency(row *results.Interval, s *summary, n, c int, o database.Outcome) {
	if s.latency.Count == 0 {
		return
	}
	r.totals[n][c][o].merge(s)
	out := row.Latency(results.Timings[c], o)
	*out = s.latency
	out.SetPercentiles(s.histogram)
}

// series names the histogram of the n-th phase and operation, one clock and
// outcome of this step.
func (r *Recorder) series(n, c int, o database.Outcome) results.Series {
	return results.Series{
		Timing: results.Timings[c], Operation: string(r.ops[n%len(r.ops)]), Outcome: o,
		Step: r.step.Index, Phase: phases[n/len(r.ops)],
	}
}

// dueIn counts the requests due in a second that belong to a phase, by
// operation. The counts are the recorder's until the next call.
func (r *Recorder) dueIn(sec int64, p int) []int64 {
	clear(r.dueByOp)
	if !r.rated {
		return r.dueByOp
	}
	until := min(r.fromUnix(sec+1), r.issueEnd.Load()) - r.stepFrom
	if p < numPhases-1 {
		until = min(until, r.phaseEnd[p])
	}
	upTo := max(r.schedule.dueBefore(until), r.due)
	r.work.count(r.first+r.due, r.first+upTo, r.dueByOp)
	r.due = upTo
	return r.dueByOp
}

// settle compares what the schedule handed out with what became of it. The two
// are counted apart, the one from numbers and the other from requests, so that a
// request that is lost or sent twice shows. The rows of a closed loop say so far
// that what was sent was due.
func (r *Recorder) settle(rows []results.Interval) {
	if !r.rated {
		clear(r.dueByOp)
		r.work.count(r.first, r.first+r.schedule.used(), r.dueByOp)
		for o, op := range r.ops {
			more := r.dueByOp[o] - r.sent[o]
			lastOf(rows, string(op)).Due += more
			r.counts.Offered += more
			r.backlog[o] += more
		}
	}
	for o, op := range r.ops {
		if r.backlog[o] != 0 || r.inFlight[o] != 0 {
			r.keep(fmt.Errorf("account for step %d: of %s, %d more were due than were sent, shed or left unsent, and %d more were sent than ended",
				r.step.Index, op, r.backlog[o], r.inFlight[o]))
		}
	}
}

// gauges sets the gauges on each operation's last row of a second; they follow
// from the counts, so that they always agree with them. Only after a flush that was
// held up for seconds may more be counted as sent than as due.
func (r *Recorder) gauges(rows []results.Interval) {
	for o, op := range r.ops {
		if row := lastOf(rows, string(op)); row != nil {
			row.Backlog, row.InFlight = max(r.backlog[o], 0), r.inFlight[o]
			row.KeysCumulative = r.created
		}
	}
}

// lastOf is the last row of an operation.
func lastOf(rows []results.Interval, op string) *results.Interval {
	for n := len(rows) - 1; n >= 0; n-- {
		if rows[n].Operation == op {
			return &rows[n]
		}
	}
	return nil
}

// errorCounts lists a second's failures by phase, operation and class.
func (r *Recorder) errorCounts(sec int64, f failed) []results.ErrorCount {
	var list []results.ErrorCount
	order := func(a, b failure) int {
		return cmp.Or(cmp.Compare(a.phase, b.phase), cmp.Compare(a.op, b.op), cmp.Compare(a.class, b.class))
	}
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
	all := r.shown
	all.Reset()
	for _, l := range s.Latencies {
		if l.Series.Timing == results.TimingResponse || !r.rated {
			all.Merge(l.Histogram)
		}
	}
	if all.TotalCount() > 0 {
		p.P50 = time.Duration(results.Quantile(all, 0.50))
		p.P99 = time.Duration(results.Quantile(all, 0.99))
	}
	return p
}
