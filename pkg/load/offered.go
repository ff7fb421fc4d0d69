package load

import (
	"sync"

	"github.com/coreos/dbtester/pkg/load/clock"
	"github.com/coreos/dbtester/pkg/load/schedule"
)

// offered counts the requests offered by a step, from the numbers in the schedule alone. The
// accounts count the same requests from their outcomes, and the two must agree when a step ends.
type offered struct {
	clock  clock.Clock
	shards *shards // no shard is locked while mu is taken
	end    *issueEnd

	// mu orders counts and a changed end: an interrupt comes before or after a second is counted.
	mu     sync.Mutex
	plan   *plan
	due    int64 // requests due in flushed seconds
	grid   grid
	at     int64   // the moment up to which requests were counted
	asked  int64   // the time of the last call to the schedule's Due
	counts []int64 // from the last call, by phase and operation as in a slot
	tick   []int64 // of one tick, by operation
	// taken is how many requests a closed loop handed out, and takenBy counts them by operation.
	// The count grows with each second: counting requests in a part takes time in proportion to
	// their number.
	taken   int64
	takenBy []int64
}

// begin starts to count a step.
func (o *offered) begin(p *plan, g grid) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.plan, o.due, o.asked, o.at, o.grid = p, 0, 0, p.start, g
	o.tick, o.taken, o.takenBy = make([]int64, len(o.counts)/numPhases), 0, make([]int64, len(o.counts)/numPhases)
	o.end.open()
	if !p.rated() {
		return
	}
	if _, last := p.schedule.Due(0); last < schedule.Never {
		o.end.atMost(p.start + last + 1)
	}
}

// in counts the requests due in a second, by phase and operation as in a slot, and passes the
// counts of each tick, by operation, to a function. In a closed loop nothing is due ahead: all
// counts are 0. The counts are valid until the next call.
func (o *offered) in(sec int64, tick func(number int64, due []int64)) []int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.counts)
	if !o.plan.rated() {
		o.take()
		return o.counts
	}
	for {
		until := min(o.clock.SecondStart(sec+1), o.end.at())
		if o.at >= until {
			return o.counts
		}
		o.count(until, tick)
	}
}

// count counts the requests due until a moment, within the phase and the tick in which the last
// count ended.
func (o *offered) count(until int64, tick func(number int64, due []int64)) {
	p, k := o.plan.phase(o.at-o.plan.start), o.grid.of(o.at)
	_, to := o.grid.bounds(k)
	until = min(until, to) - o.plan.start
	if p < coolDown {
		until = min(until, o.plan.phaseEnd[p])
	}
	o.at = o.plan.start + until
	upTo := o.dueBefore(until)
	if upTo <= o.due {
		return
	}
	clear(o.tick)
	o.plan.count(o.due, upTo, o.tick)
	for op, n := range o.tick {
		o.counts[p*len(o.tick)+op] += n
	}
	tick(k, o.tick)
	o.due = upTo
}

// dueBefore counts the requests due before a time after the step started. It ends issuing after the
// last request in the schedule, as soon as that is known. A schedule knows its last request ahead
// of time; if this process was stopped until that time had passed, issuing ends now.
func (o *offered) dueBefore(t int64) int64 {
	o.asked = max(o.asked, t)
	before, last := o.plan.schedule.Due(o.asked)
	if last < schedule.Never && o.plan.start+last+1 < o.end.at() {
		o.shards.hold(func() { o.end.atMost(max(o.plan.start+last+1, o.clock.Now()+1)) })
	}
	return before
}

// used counts all requests handed out by a closed loop, by operation. The counts are valid until
// the next call.
func (o *offered) used() []int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.take()
	return o.takenBy
}

// take counts the requests handed out since the last call.
func (o *offered) take() {
	n := o.plan.schedule.Used()
	o.plan.count(o.taken, n, o.takenBy)
	o.taken = n
}

// stop ends issuing at the time that a function returns, as [Recorder.endIssue] does.
func (o *offered) stop(at func() int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shards.hold(func() { o.end.atMost(at()) })
}
