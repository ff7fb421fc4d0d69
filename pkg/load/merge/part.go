package merge

import (
	"fmt"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

var _ load.MemberSink = (*Part)(nil)

// Second takes one second, and does not keep it.
func (p *Part) Second(s load.Second) error {
	dropped, err := p.second(&s)
	for _, l := range dropped {
		p.merger.dropped(l.Part, l.Cause)
	}
	return err
}

// second takes one second, and returns the generators lost because they are too far behind this
// one.
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

// Total ignores a series total: the merger makes totals from the seconds.
func (p *Part) Total(load.Total) error { return nil }

// Member takes the histogram of a member for the step whose last second was sent, once for each
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

// memberDigits are the digits in [results.NewMemberHistogram].
const memberDigits = 2

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

// Lost notes that the generator sends nothing more. It is not called for a generator that has ended
// the last step of its load. Only the first cause counts.
func (p *Part) Lost(cause error) {
	m := p.merger
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.lost == nil {
		p.lose(cause)
		m.advance()
	}
}
