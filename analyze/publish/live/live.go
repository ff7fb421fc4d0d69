// Package live serves a run in progress: the report's page with figures that grow each second, by
// server-sent events, and the same numbers in the form that Prometheus reads. When the run is over,
// the page becomes the finished report.
//
// The page shows the progress reports so far. The finished report uses the records: it has more
// numbers, and the same numbers for the same seconds.
package live

import (
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/exposition"
	"github.com/coreos/dbtester/pkg/results"
)

// mostSaid bounds the texts on a page.
const mostSaid = 100

// Run collects progress reports while a run lasts. Its methods are safe for concurrent use, and
// never wait for a viewer.
type Run struct {
	title string
	clock func() time.Time

	mu    sync.Mutex
	now   Of
	step  string
	said  []said // newest last
	loads []*oneLoad
}

// New returns a run for the experiment with a title.
func New(title string) *Run { return &Run{title: title, clock: time.Now} }

// Say records an event or, as a step, the current action.
func (r *Run) Say(of Of, text string, step bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = of
	one := said{of, r.clock(), text, step}
	if step {
		r.step = text
	}
	if n := len(r.said); n > 0 && one.follows(r.said[n-1]) {
		r.said = append(r.said[:n-1:n-1], one)
		return
	}
	r.said = append(r.said, one)
	if over := len(r.said) - mostSaid; over > 0 {
		r.said = append(r.said[:0:0], r.said[over:]...)
	}
}

// Load records a second in a load.
func (r *Run) Load(of Of, p load.Progress, ahead Ahead) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now, r.step = of, "load"
	r.of(of).progress(r.clock(), p, ahead)
}

// Count shows the counts in a load as metrics.
func (r *Run) Count(of Of, counts *exposition.Part) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of(of).counts = counts
}

// Sample records a sample from a machine, such as "member 1" or "client".
func (r *Run) Sample(of Of, machine string, s results.Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of(of).sample(machine, s)
}

// Report records the metrics that a member, such as "member 1", reported about itself.
func (r *Run) Report(of Of, member string, s results.DatabaseSample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of(of).report(member, s)
}

// Happen records an event in a database's run. Figures show faults and leaders.
func (r *Run) Happen(of Of, e results.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of(of).happen(e)
}

// of returns the load on a database. It replaces the load in an earlier trial.
func (r *Run) of(of Of) *oneLoad {
	for i, l := range r.loads {
		if l.of.Tag != of.Tag {
			continue
		}
		if l.of.Trial != of.Trial {
			r.loads[i] = &oneLoad{of: of}
		}
		return r.loads[i]
	}
	l := &oneLoad{of: of}
	r.loads = append(r.loads, l)
	return l
}

// state returns a snapshot of the run.
func (r *Run) state() state {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := state{step: r.step, at: r.clock(), now: r.now, said: r.said[:len(r.said):len(r.said)]}
	for _, l := range r.loads {
		s.loads = append(s.loads, l.clone())
	}
	return s
}
