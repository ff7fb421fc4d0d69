package load

import (
	"context"
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/load/clock"
	"github.com/coreos/dbtester/pkg/load/stops"
	"github.com/coreos/dbtester/pkg/results"
)

// flushAfter is the time from the end of a second until it is flushed, in nanoseconds: enough to
// record for a client that read the clock just before the end.
const flushAfter = int64(5e6)

// Garbage may stay for collectEvery, and until it has collectFrom bytes. Samples, rows and progress
// leave some 15 kB a second. The runtime alone would collect it only every two minutes, and memory
// would grow with the load duration. A collection takes 2 to 9 ms of CPU time with a thousand
// clients, about every nine seconds.
const (
	collectEvery = 2 * time.Second
	collectFrom  = 128 << 10
)

// flusher closes the seconds of a step: it merges the records from shards and failures, adds them
// to the accounts, and passes them to the sink.
type flusher struct {
	clock    clock.Clock
	shards   *shards
	fails    *failures
	offered  *offered
	accounts *accounts
	stops    *stops.Stops
	meter    *Meter
	sink     Sink
	history  *history // nil without an observer

	// mu orders flushes, by the ticker and at the end of a step, and calls to the sink. No other
	// lock is held while it is taken.
	mu      sync.Mutex
	flushed int64 // the last second that was flushed
	merged  slot
	records records
	ticks   tickRows
	members memberRows
	err     error // from the sink and from settlements
}

// begin starts a step whose first second follows flushed.
func (f *flusher) begin(p *plan, flushed int64, g grid) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ticks.begin(p, g)
	f.records.plan, f.members.plan, f.flushed = p, p, flushed
}

// run flushes every second until ctx ends; end flushes the rest.
func (f *flusher) run(ctx context.Context) {
	var collected debug.GCStats
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
	timer := time.NewTimer(f.flushEnded())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.history.hurried():
			f.observe()
			continue
		case <-timer.C:
		}
		timer.Reset(f.flushEnded())
		debug.ReadGCStats(&collected)
		metrics.Read(heap)
		if time.Since(collected.LastGC) >= collectEvery && heap[0].Value.Uint64() >= heap[1].Value.Uint64()+collectFrom {
			runtime.GC()
		}
	}
}

// flushEnded flushes the seconds that ended and returns the time until the next.
func (f *flusher) flushEnded() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.flushed+1 < f.clock.Second(f.clock.Now()) {
		f.flush(f.flushed + 1)
	}
	f.deliver()
	return time.Duration(f.clock.SecondStart(f.flushed+2) + flushAfter - f.clock.Now())
}

// end flushes the last seconds in a step that ended at the given moment, and writes its totals for
// the time between from and to. It returns the longest gap between ok answers. The error comes from
// the sink, or reports that requests were lost or counted twice.
func (f *flusher) end(end int64, from, to time.Time) (*results.Gap, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for last := f.clock.Second(f.clock.Now()); f.flushed+1 < last; {
		f.flush(f.flushed + 1)
	}
	f.flushUntil(f.flushed+1, f.ticks.grid.of(end)+1, end)
	f.deliver()
	f.accounts.clamp(f.records.writeTotals(from, to, func(t Total) { f.keep(f.sink.Total(t)) }))
	if sink, ok := f.sink.(MemberSink); ok {
		f.members.totals(f.shards.members(), from, to, func(t MemberTotal) { f.keep(sink.Member(t)) })
	}
	return f.ticks.largestGap(end), f.err
}

// observe passes the ended requests to the observer.
func (f *flusher) observe() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deliver()
}

// deliver implements observe while the flusher is locked.
func (f *flusher) deliver() {
	if f.history != nil {
		f.history.deliver(f.keep)
	}
}

// flush closes a second that is not the last in a step.
func (f *flusher) flush(sec int64) {
	f.flushUntil(sec, f.ticks.grid.of(f.clock.SecondStart(sec+1)), math.MaxInt64)
}

// flushUntil closes a second, and writes the ticks before number tick. In the last second, end is
// when the step ended, and its accounts are settled; in others it is math.MaxInt64.
func (f *flusher) flushUntil(sec, tick, end int64) {
	read := f.shards.take(sec, f.merged, tick, &f.ticks.taken, &f.members.merged)
	fails := f.fails.take(sec)
	second := f.records.second(sec, f.merged, f.offered.in(sec, f.ticks.due), fails)
	second.Progress, second.Answers = f.ticks.before(tick, end)
	second.Members = f.members.second(sec)
	second.Last = end < math.MaxInt64
	f.flushed = sec
	second.Intervals[0].GapNS = f.stops.In(sec)
	f.accounts.add(second.Intervals, read)
	if second.Last {
		if !f.records.plan.rated() {
			f.accounts.offer(second.Intervals, f.offered.used())
		}
		f.keep(f.accounts.settle(f.records.plan.Index))
	}
	f.accounts.gauges(second.Intervals)
	f.keep(f.sink.Second(second))
	counts, _, _ := f.accounts.totals()
	p := f.records.plan
	span := min(f.clock.SecondStart(sec+1), end) - max(f.clock.SecondStart(sec), p.start)
	step := p.Step
	step.Start = f.clock.Time(p.start)
	f.meter.Report(step, time.Duration(f.clock.Now()-p.start), time.Duration(span), counts, second)
	f.merged.reset()
}

// keep remembers each error once. The load continues, and its step returns the errors.
func (f *flusher) keep(err error) {
	if err != nil && !errors.Is(f.err, err) {
		f.err = errors.Join(f.err, err)
	}
}
