package merge

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Part takes the records of one generator, in the order in which its recorder makes them.
// Parts are safe for concurrent use with each other. An error is the generator's: it sent a
// record that cannot be merged, which changes nothing, or it is lost.
type Part struct {
	merger *Merger
	index  int
	name   string

	// latency are the histograms of the second that it is sending, by index as in [shape]; nil
	// before the first of a series. They belong to the goroutine that sends.
	latency []*packed

	// The merger's mu guards the fields below, except that done and keys are written by who writes.
	begun  bool   // it has sent a second
	taking bool   // it is sending another, which is not written meanwhile
	at     moment // the last second that it sent
	last   bool   // its step has no later second
	ended  int    // the last step that it ended, -1 before
	done   int    // the last step of which its last second was written, -1 before
	keys   int64  // created by the last second that was written
	lost   error  // why it is lost, nil if it is not
	// members are the series of its step whose histograms it has sent.
	members map[results.MemberSeries]bool
}

var _ load.MemberSink = (*Part)(nil)

// ErrLost is returned for records of a generator that counts as lost.
var ErrLost = errors.New("the generator counts as lost")

// Second takes one second, and does not keep it.
func (p *Part) Second(s load.Second) error {
	dropped, err := p.second(&s)
	for _, l := range dropped {
		p.merger.dropped(l.Part, l.Cause)
	}
	return err
}

// second takes one second, and returns the generators that are lost because they are too far
// behind this one.
func (p *Part) second(s *load.Second) ([]Loss, error) {
	m := p.merger
	at, err := momentOf(s)
	if err == nil {
		err = m.shape.check(s, at)
	}
	var to *second
	if err == nil {
		m.await()
		to, err = p.reserve(at)
	}
	if err != nil {
		return nil, fmt.Errorf("second of generator %s: %w", p.name, err)
	}
	to.take(p, s)
	p.added(at, s.Last)
	m.advance()
	return m.limit(), nil
}

// momentOf returns the moment of a second's rows.
func momentOf(s *load.Second) (moment, error) {
	if len(s.Intervals) == 0 {
		return moment{}, errors.New("it must have rows, got none")
	}
	return moment{s.Intervals[0].Step, s.Intervals[0].Second}, nil
}

// reserve returns the second to which records of a moment are added. It is not written before added
// is called, even if the generator is lost meanwhile.
func (p *Part) reserve(at moment) (*second, error) {
	m := p.merger
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := p.next(at); err != nil {
		return nil, err
	}
	m.step(at.step)
	p.taking = true
	return m.second(at), nil
}

// added notes that the records of a moment were added.
func (p *Part) added(at moment, last bool) {
	m := p.merger
	m.mu.Lock()
	defer m.mu.Unlock()
	p.taking, p.begun, p.at, p.last = false, true, at, last
	if i := slices.IndexFunc(m.losses, func(l Loss) bool { return l.Part == p.index }); i >= 0 {
		m.losses[i].Step, m.losses[i].Second = at.step, at.second // it was lost while it sent them
	}
}

// Total ignores the total of a series: the merger makes totals from the seconds.
func (p *Part) Total(load.Total) error { return nil }

// Member takes a member's histogram of the step whose last second was sent, once for each
// series, and does not keep it.
func (p *Part) Member(t load.MemberTotal) error {
	m := p.merger
	m.mu.Lock()
	defer m.mu.Unlock()
	switch h := t.Histogram; {
	case p.lost != nil:
		return fmt.Errorf("member of generator %s: %w: %w", p.name, ErrLost, p.lost)
	case !p.begun || !p.last || p.ended >= p.at.step || t.Series.Step != p.at.step:
		return fmt.Errorf("member of generator %s: it must follow the last second of its step, got step %d", p.name, t.Series.Step)
	case t.Series.Member < -1 || t.Series.Member >= maxMembers:
		return fmt.Errorf("member of generator %s: a member must be from -1 to %d, got %d", p.name, maxMembers-1, t.Series.Member)
	case !slices.Contains(results.Timings[:], t.Series.Timing):
		return fmt.Errorf("member of generator %s: unknown timing %q", p.name, t.Series.Timing)
	case p.members[t.Series]:
		return fmt.Errorf("member of generator %s: it must have one histogram of each series, got another of %s", p.name, t.Series.Tag())
	case h.LowestTrackableValue() != 1 || h.HighestTrackableValue() != int64(histogram.MaxLatency) || h.SignificantFigures() != memberDigits:
		return fmt.Errorf("member of generator %s: a histogram must hold 1 to %d with %d digits, got %d to %d with %d",
			p.name, int64(histogram.MaxLatency), memberDigits, h.LowestTrackableValue(), h.HighestTrackableValue(), h.SignificantFigures())
	}
	m.step(t.Series.Step).addMember(t)
	p.members[t.Series] = true
	return nil
}

// memberDigits are the digits of [results.NewMemberHistogram].
const memberDigits = 2

// maxMembers bounds the index of a member.
const maxMembers = 1 << 10

// End ends the step whose last second was sent. The step lasted from start to end.
func (p *Part) End(start, end time.Time) error {
	if err := p.over(start, end); err != nil {
		return fmt.Errorf("end of generator %s: %w", p.name, err)
	}
	p.merger.advance()
	return nil
}

// over notes the end of a step.
func (p *Part) over(start, end time.Time) error {
	m := p.merger
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case p.lost != nil:
		return fmt.Errorf("%w: %w", ErrLost, p.lost)
	case !p.begun || !p.last || p.ended >= p.at.step:
		return errors.New("a step must have its last second before it ends")
	}
	m.step(p.at.step).lasted(start, end)
	p.ended = p.at.step
	clear(p.members)
	return nil
}

// Lost notes that the generator sends nothing more. It is not called for a generator that
// has ended the last step of its load. Only the first cause counts.
func (p *Part) Lost(cause error) {
	p.mark(cause)
	p.merger.advance()
}

// mark notes a loss if it is the first of this generator.
func (p *Part) mark(cause error) {
	p.merger.mu.Lock()
	defer p.merger.mu.Unlock()
	if p.lost == nil {
		p.lose(cause)
	}
}

// lose notes a loss. The caller holds the merger's mu, as in all methods below.
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
	return p.gone() || p.begun && (p.at.compare(at) >= 0 || p.at.step == at.step && p.last)
}

// gone reports whether the generator is lost and all that it has sent was added.
func (p *Part) gone() bool { return p.lost != nil && !p.taking }

// continues reports whether the generator has a second of the same step after a moment, as a lost
// one may have, or may still send one.
func (p *Part) continues(at moment) bool {
	return p.done < at.step && (!p.gone() || p.begun && p.at.compare(at) > 0)
}

// through reports whether the generator sends nothing more of a step.
func (p *Part) through(step int) bool { return p.gone() || p.ended >= step }

// next returns an error if a second cannot follow the one before.
func (p *Part) next(at moment) error {
	switch {
	case p.lost != nil:
		return fmt.Errorf("%w: %w", ErrLost, p.lost)
	case at.step < 0:
		return fmt.Errorf("a step must not be negative, got %d", at.step)
	case !p.begun:
		return nil
	case at.compare(p.at) <= 0:
		return fmt.Errorf("it must be later than second %d of step %d, got second %d of step %d", p.at.second, p.at.step, at.second, at.step)
	case at.step == p.at.step && p.last:
		return fmt.Errorf("step %d had its last second before second %d", at.step, at.second)
	case at.step > p.at.step && p.ended < p.at.step:
		return fmt.Errorf("step %d must end before step %d begins", p.at.step, at.step)
	}
	return nil
}

// second holds the records that generators sent of one second.
type second struct {
	at   moment
	from []share // by part; each belongs to the part, until all have sent theirs

	mu sync.Mutex // guards latency until all parts have sent their share
	// latency holds the merged histograms, by index as in [shape]; nil without values.
	latency []*packed
}

// share is one generator's records of a second. It is empty if the generator sent none.
type share struct {
	last    bool
	rows    []results.Interval
	errors  []results.ErrorCount
	ticks   []results.Progress
	answers []load.Answers
	members []results.MemberSecond
}

// take copies a generator's records. Parts may take theirs at once.
func (s *second) take(p *Part, sent *load.Second) {
	c := &s.from[p.index]
	c.last = sent.Last
	c.rows = append(c.rows[:0], sent.Intervals...)
	c.errors = append(c.errors[:0], sent.Errors...)
	c.ticks = append(c.ticks[:0], sent.Progress...)
	c.answers = append(c.answers[:0], sent.Answers...)
	c.members = append(c.members[:0], sent.Members...)
	p.pack(sent)
	s.mu.Lock()
	defer s.mu.Unlock()
	addPacked(&s.latency, p.latency)
}

// pack makes the part's histograms those of a second. Finding the buckets with counts among 27,000
// takes longer than adding them to those of others.
func (p *Part) pack(sent *load.Second) {
	for _, h := range p.latency {
		if h != nil {
			h.Reset()
		}
	}
	sh := p.merger.shape
	if p.latency == nil {
		p.latency = make([]*packed, sh.seriesCount())
	}
	for _, list := range [...][]load.Latency{sent.Latencies, sent.Failures} {
		for _, l := range list {
			i, _ := sh.index(l.Series)
			if p.latency[i] == nil {
				p.latency[i] = histogram.Packed()
			}
			p.latency[i].MergeFrom(l.Histogram)
		}
	}
}

// addPacked adds histograms to others with the same indexes, which are made when they are needed.
func addPacked(to *[]*packed, from []*packed) {
	if *to == nil {
		*to = make([]*packed, len(from))
	}
	for i, h := range from {
		if h == nil || h.TotalCount() == 0 {
			continue
		}
		if (*to)[i] == nil {
			(*to)[i] = histogram.Packed()
		}
		(*to)[i].Merge(h)
	}
}

// reset empties the second and keeps its memory.
func (s *second) reset() {
	for n := range s.from {
		c := &s.from[n]
		clear(c.errors) // and their texts
		*c = share{rows: c.rows[:0], errors: c.errors[:0], ticks: c.ticks[:0], answers: c.answers[:0], members: c.members[:0]}
	}
	for _, h := range s.latency {
		if h != nil {
			h.Reset()
		}
	}
}
