package load

import (
	"sync"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/message"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// failures records the requests of all clients that ended failed or unknown. All clients share one
// lock: failures are rare, or their cost does not matter. It has two slots, like a shard.
type failures struct {
	ops []workload.Op

	mu    sync.Mutex
	open  openSeconds
	rated bool
	slots [2]failed
	// exampled are the classes with an example in this step's records.
	exampled map[database.Class]bool
	messages *message.Set // for the whole load

	taken failed // the second taken last; only the taking goroutine uses it
}

// failed holds failures in one second.
type failed struct {
	counts  map[failure]*results.ErrorCount
	latency []latencies // as in a slot; nil if nothing failed yet
}

// failure is the key by which errors are counted within a second.
type failure struct {
	phase, op int
	class     database.Class
	message   string
}

// begin prepares for a step whose first second follows flushed.
func (f *failures) begin(flushed int64, rated bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open.flushed, f.rated = flushed, rated
	f.exampled = map[database.Class]bool{}
	if f.messages == nil {
		f.messages = message.NewSet()
	}
}

// record counts a request that ended failed or unknown.
func (f *failures) record(d *done) {
	text := d.err.Error()
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &f.slots[f.open.of(d.end)&1]
	if s.counts == nil {
		s.counts = map[failure]*results.ErrorCount{}
		s.latency = make([]latencies, numPhases*len(f.ops))
	}
	by := failure{d.phase, d.op, d.class, f.messages.Of(string(d.class), text)}
	c := s.counts[by]
	if c == nil {
		c = &results.ErrorCount{Operation: string(f.ops[d.op]), Phase: phases[d.phase], Class: string(d.class), Message: by.message}
		s.counts[by] = c
	}
	c.Count++
	if !f.exampled[d.class] {
		f.exampled[d.class] = true
		c.FirstText, c.FirstTime = text, f.open.clock.Time(d.end)
	}
	l := &s.latency[d.phase*len(f.ops)+d.op]
	f.add(l, d.outcome, d)
	if d.declined {
		f.add(l, workload.Declined, d)
	}
}

// add adds a request's latencies. The lock is held.
func (f *failures) add(l *latencies, o workload.Outcome, d *done) {
	l[service][o].add(d.end - d.sent)
	if f.rated {
		l[response][o].add(d.end - d.due)
	}
}

// take closes a second and returns its failures, which are valid until the next
// call. One goroutine at a time calls it.
func (f *failures) take(sec int64) failed {
	f.taken.reset()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open.flushed = sec
	f.taken, f.slots[sec&1] = f.slots[sec&1], f.taken
	return f.taken
}

// reset empties a second and keeps its memory.
func (f *failed) reset() {
	clear(f.counts)
	for n := range f.latency {
		for c := range f.latency[n] {
			for o := range f.latency[n][c] {
				f.latency[n][c][o].reset()
			}
		}
	}
}
