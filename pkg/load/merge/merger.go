package merge

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// DefaultAhead is how many seconds wait for a generator before it counts as lost.
const DefaultAhead = 60

// Options describe the generators.
type Options struct {
	// Operations are those in the load, in its order.
	Operations []workload.Op
	// Generators are the generator names, in part order.
	Generators []string
	// Ahead bounds the seconds that wait for a generator; 0 means [DefaultAhead].
	Ahead int
	// Lost is called with each part that counts as lost because more seconds than Ahead wait
	// for it, and with the cause. It is not called for parts that [Part.Lost] names. It runs in
	// the call to [Part.Second] that exceeded the bound, may call the merger, and may be called
	// concurrently. Nil ignores losses.
	Lost func(part int, cause error)
}

// Merger merges the seconds of several generators. It is safe for concurrent use, and its sink is
// called by one goroutine at a time.
type Merger struct {
	mu      sync.Mutex
	out     load.Sink
	ahead   int
	dropped func(part int, cause error)
	parts   []*Part
	losses  []Loss
	pending []*second // not yet sent by some generator, ascending
	free    []*second
	open    []*stepRecord // steps that began and whose totals are not yet written, ascending
	gaps    load.Gaps     // in the last step whose totals were written
	rows    rowWriter
	err     error // from the sink
}

// Part takes the records of one generator, in the order in which its recorder makes them. Parts are
// safe for concurrent use with each other. An error is about the generator: it sent a record that
// cannot be merged, which changes nothing, or it is lost.
type Part struct {
	merger *Merger
	index  int
	name   string

	// The merger lock guards the fields below.
	begun bool   // it has sent a second
	at    moment // the last second it sent
	last  bool   // its step has no later second
	ended int    // the last step it ended, -1 before
	done  int    // the last step for which its last second was written, -1 before
	keys  int64  // created by the last second written
	lost  error  // why it is lost, nil if it is not
	// members are the series in its step whose histograms it has sent.
	members map[results.MemberSeries]bool
}

// New returns a merger that writes to a sink: also member totals if it is a [load.MemberSink].
func New(out load.Sink, o Options) *Merger {
	if o.Ahead == 0 {
		o.Ahead = DefaultAhead
	}
	if o.Lost == nil {
		o.Lost = func(int, error) {}
	}
	m := &Merger{out: out, ahead: o.Ahead, dropped: o.Lost, rows: newRowWriter(shape{ops: slices.Clone(o.Operations)})}
	for n, name := range o.Generators {
		m.parts = append(m.parts, &Part{merger: m, index: n, name: name, ended: -1, done: -1, members: map[results.MemberSeries]bool{}})
	}
	return m
}

// Part returns the part that takes records from the n-th generator, n from 0.
func (m *Merger) Part(n int) *Part { return m.parts[n] }

// Err returns the sink's errors. They do not stop the merge.
func (m *Merger) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// LongestGap returns the longest time without an ok answer to any generator in the measured window
// of the last step that all generators ended. The window begins and ends at from and to after the
// step started.
func (m *Merger) LongestGap(from, to time.Duration) results.Gap {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.gaps.Longest(int64(from), int64(to))
}

// Losses returns the lost generators, in the order in which their losses were noticed.
func (m *Merger) Losses() []Loss {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.losses)
}

// second returns the second at a moment, and adds it if it is missing. The lock is held, as in
// all methods below.
func (m *Merger) second(at moment) *second {
	i, found := slices.BinarySearchFunc(m.pending, at, func(s *second, at moment) int { return s.at.compare(at) })
	if found {
		return m.pending[i]
	}
	s := &second{from: make([]share, len(m.parts))}
	if n := len(m.free); n > 0 {
		s, m.free = m.free[n-1], m.free[:n-1]
	}
	s.at = at
	m.pending = slices.Insert(m.pending, i, s)
	return s
}

// step returns a step record, and adds it if it is missing.
func (m *Merger) step(number int) *stepRecord {
	i, found := slices.BinarySearchFunc(m.open, number, func(s *stepRecord, number int) int { return cmp.Compare(s.step, number) })
	if !found {
		m.open = slices.Insert(m.open, i, newStepRecord(number))
	}
	return m.open[i]
}

// advance writes the seconds and totals that no generator holds up any more.
func (m *Merger) advance() {
	for len(m.pending) > 0 {
		s := m.pending[0]
		if m.open[0].step < s.at.step {
			if !m.closeStep() {
				return
			}
			continue
		}
		if slices.ContainsFunc(m.parts, func(p *Part) bool { return !p.covers(s.at) }) {
			return
		}
		m.write(s)
		m.pending = slices.Delete(m.pending, 0, 1)
		s.reset()
		m.free = append(m.free, s)
	}
	for len(m.open) > 0 && m.closeStep() {
	}
}

// limit drops the generators for which too many seconds wait, and returns their losses.
func (m *Merger) limit() (all []Loss) {
	for len(m.pending) > m.ahead {
		at, step := m.pending[0].at, m.open[0].step
		var dropped []Loss
		for _, p := range m.parts {
			if step < at.step && !p.through(step) || step == at.step && !p.covers(at) {
				dropped = append(dropped, p.lose(fmt.Errorf("the others are more than %d seconds ahead", m.ahead)))
			}
		}
		if len(dropped) == 0 {
			break
		}
		all = append(all, dropped...)
		m.advance()
	}
	return all
}

// write writes a second sent by all generators.
func (m *Merger) write(s *second) {
	st := m.open[0]
	st.covers(s.at.start())
	w := &m.rows
	w.begin()
	running := false
	for n, p := range m.parts {
		c := &s.from[n]
		if c.last {
			p.done = s.at.step
		}
		// Later seconds in a step with a lost generator may still be written.
		own := p.done < s.at.step && (p.lost == nil || p.begun && p.at.compare(s.at) > 0)
		running = running || own
		w.add(c, own)
		p.keys = max(p.keys, w.keysOf(c))
	}
	out := load.Second{Start: s.at.start(), Last: !running}
	w.histograms(s, st, &out)
	keys := int64(0)
	for _, p := range m.parts {
		keys += p.keys
	}
	out.Intervals = w.intervals(s, keys)
	out.Errors = w.errorCounts(s, st)
	out.Members, out.Answers = w.memberRows(s), w.allAnswers(s)
	for _, a := range out.Answers {
		st.gaps.Add(a)
	}
	st.until = max(st.until, w.until)
	until := st.until
	if !running {
		until, st.closed = math.MaxInt64, true
	}
	out.Progress = w.ticks.take(until)
	m.keep(m.out.Second(out))
}

// closeStep writes totals for the oldest step if all generators have ended it.
func (m *Merger) closeStep() bool {
	st := m.open[0]
	if slices.ContainsFunc(m.parts, func(p *Part) bool { return !p.through(st.step) }) {
		return false
	}
	if !st.closed { // the last generator was lost after the last second was written
		m.keep(m.out.Second(load.Second{Start: st.last, Progress: m.rows.ticks.take(math.MaxInt64), Last: true}))
	}
	start, end := st.bounds()
	for i, packed := range st.totals {
		if packed == nil || packed.TotalCount() == 0 {
			continue
		}
		l := load.Latency{Series: m.rows.shape.series(i, st.step), Histogram: m.rows.dense(i, packed)}
		m.keep(m.out.Total(load.Total{Latency: l, Start: start, End: end}))
	}
	if out, ok := m.out.(load.MemberSink); ok {
		for _, t := range st.memberTotals() {
			m.keep(out.Member(t))
		}
	}
	m.gaps = st.gaps
	m.open = slices.Delete(m.open, 0, 1)
	return true
}

// keep remembers each error once.
func (m *Merger) keep(err error) {
	if err != nil && !errors.Is(m.err, err) {
		m.err = errors.Join(m.err, err)
	}
}

// lose notes a loss. The lock is held, as in all methods below.
func (p *Part) lose(cause error) Loss {
	if cause == nil {
		cause = errors.New("no cause is known")
	}
	p.lost = cause
	l := Loss{Generator: p.name, Part: p.index, Cause: cause}
	if p.begun {
		l.Step, l.Second = p.at.step, p.at.second
	}
	p.merger.losses = append(p.merger.losses, l)
	return l
}

// covers reports whether the generator has sent a second, or will not send it.
func (p *Part) covers(at moment) bool {
	return p.lost != nil || p.begun && (p.at.compare(at) >= 0 || p.at.step == at.step && p.last)
}

// through reports whether the generator sends nothing more for a step.
func (p *Part) through(step int) bool { return p.lost != nil || p.ended >= step }

// next returns a second's moment, or an error if it cannot follow the one before.
func (p *Part) next(s *load.Second) (moment, error) {
	if p.lost != nil {
		return moment{}, fmt.Errorf("%w: %w", ErrLost, p.lost)
	}
	if len(s.Intervals) == 0 {
		return moment{}, errors.New("it must have rows, got none")
	}
	at := moment{s.Intervals[0].Step, s.Intervals[0].Second}
	switch {
	case at.step < 0:
		return at, fmt.Errorf("a step must not be negative, got %d", at.step)
	case !p.begun:
		return at, nil
	case at.compare(p.at) <= 0:
		return at, fmt.Errorf("it must be later than second %d of step %d, got second %d of step %d", p.at.second, p.at.step, at.second, at.step)
	case at.step == p.at.step && p.last:
		return at, fmt.Errorf("step %d had its last second before second %d", at.step, at.second)
	case at.step > p.at.step && p.ended < p.at.step:
		return at, fmt.Errorf("step %d must end before step %d begins", p.at.step, at.step)
	}
	return at, nil
}
