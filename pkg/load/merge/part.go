package merge

import (
	"errors"
	"fmt"
	"slices"
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

	// The merger's lock guards the fields below.
	begun bool   // it has sent a second
	at    moment // the last second that it sent
	last  bool   // its step has no later second
	ended int    // the last step that it ended, -1 before
	done  int    // the last step of which its last second was written, -1 before
	keys  int64  // created by the last second that was written
	lost  error  // why it is lost, nil if it is not
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
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := p.next(s)
	if err == nil {
		err = m.rows.shape.check(s, at)
	}
	if err != nil {
		return nil, fmt.Errorf("second of generator %s: %w", p.name, err)
	}
	m.step(at.step)
	m.second(at).take(p.index, m.rows.shape, s)
	p.begun, p.at, p.last = true, at, s.Last
	m.advance()
	return m.limit(), nil
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
	m := p.merger
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case p.lost != nil:
		return fmt.Errorf("end of generator %s: %w: %w", p.name, ErrLost, p.lost)
	case !p.begun || !p.last || p.ended >= p.at.step:
		return fmt.Errorf("end of generator %s: a step must have its last second before it ends", p.name)
	}
	m.step(p.at.step).lasted(start, end)
	p.ended = p.at.step
	clear(p.members)
	m.advance()
	return nil
}

// Lost notes that the generator sends nothing more. It is not called for a generator that
// has ended the last step of its load. Only the first cause counts.
func (p *Part) Lost(cause error) {
	m := p.merger
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.lost == nil {
		p.lose(cause)
		m.advance()
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

// through reports whether the generator sends nothing more of a step.
func (p *Part) through(step int) bool { return p.lost != nil || p.ended >= step }

// next returns the moment of a second, or an error if it cannot follow the one before.
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

// second holds the records that generators sent of one second.
type second struct {
	at   moment
	from []share // by part
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

// take copies a generator's records.
func (s *second) take(part int, sh shape, sent *load.Second) {
	c := &s.from[part]
	c.last = sent.Last
	c.rows = append(c.rows[:0], sent.Intervals...)
	c.errors = append(c.errors[:0], sent.Errors...)
	c.ticks = append(c.ticks[:0], sent.Progress...)
	c.answers = append(c.answers[:0], sent.Answers...)
	c.members = append(c.members[:0], sent.Members...)
	if s.latency == nil {
		s.latency = make([]*packed, sh.seriesCount())
	}
	for _, list := range [...][]load.Latency{sent.Latencies, sent.Failures} {
		for _, l := range list {
			i, _ := sh.index(l.Series)
			if s.latency[i] == nil {
				s.latency[i] = histogram.Packed()
			}
			s.latency[i].MergeFrom(l.Histogram)
		}
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
