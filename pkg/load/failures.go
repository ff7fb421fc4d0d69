package load

import (
	"sync"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// failures gathers requests that did not end ok, of all clients: they are rare,
// or their cost does not matter.
type failures struct {
	mu      sync.Mutex
	flushed int64
	slots   [2]failed
	taken   failed // the second that was taken last
	// told are the classes of which this step's records hold an example.
	told map[database.Class]bool
}

// failed is one second of failures.
type failed struct {
	counts  map[failure]*results.ErrorCount
	latency []failedLatency // as a slot
}

// failedLatency are the latencies of one phase and operation, by clock and
// outcome.
type failedLatency [numClocks][3]summary

// failure is what failures are counted by.
type failure struct {
	phase, op int
	class     database.Class
}

// open prepares for a step whose first second follows flushed.
func (f *failures) open(flushed int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flushed = flushed
	f.told = map[database.Class]bool{}
}

// record counts a request that ended failed or unknown.
func (f *failures) record(r *Recorder, d *done) {
	f.mu.Lock()
	defer f.mu.Unlock()
	sec := min(max(r.second(d.end), f.flushed+1), f.flushed+2)
	s := &f.slots[sec&1]
	if s.counts == nil {
		s.counts = map[failure]*results.ErrorCount{}
		s.latency = make([]failedLatency, numPhases*len(r.ops))
	}
	by := failure{d.phase, d.op, d.class}
	c := s.counts[by]
	if c == nil {
		c = &results.ErrorCount{Operation: string(r.ops[d.op]), Phase: phases[d.phase], Class: string(d.class)}
		s.counts[by] = c
	}
	c.Count++
	if !f.told[d.class] {
		f.told[d.class] = true
		c.FirstText, c.FirstTime = d.err.Error(), r.time(d.end)
	}
	l := &s.latency[d.phase*len(r.ops)+d.op]
	l[service][d.outcome].add(d.end - d.sent)
	if r.rated {
		l[response][d.outcome].add(d.end - d.due)
	}
}

// take returns the failures of a second and closes it. They are valid until the
// next one is taken.
func (f *failures) take(sec int64) failed {
	f.taken.reset() // only takers touch it
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flushed = sec
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
