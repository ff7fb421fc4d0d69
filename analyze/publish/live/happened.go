package live

import (
	"fmt"
	"slices"
	"time"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/results"
)

// mostHappened bounds the events that figures for a load show.
const mostHappened = 1000

// happen adds an event. Only faults and leaders are kept.
func (l *oneLoad) happen(e results.Event) {
	switch e.Kind {
	case faults.EventFault:
		if len(l.faults) < mostHappened {
			l.faults = append(l.faults, lasted{member: e.Member, from: e.Time})
		}
	case faults.EventOver:
		first := slices.IndexFunc(l.faults, func(f lasted) bool { return f.member == e.Member && f.to.IsZero() })
		if first >= 0 {
			l.faults = slices.Clone(l.faults) // copies of the load stay as they are
			l.faults[first].to = e.Time
		}
	case results.EventLeader:
		l.leader = e.Member + 1
		if len(l.leaders) < mostHappened {
			l.leaders = append(l.leaders, e.Time)
		}
	}
}

// leaderName names the member that leads, or is "".
func (l *oneLoad) leaderName() string {
	if l.leader <= 0 {
		return ""
	}
	return fmt.Sprintf("member %d", l.leader)
}

// mark draws the faults in the current load as bands, as far as the load goes, and its leaders as
// marks in one colour.
func (s *state) mark(f *figure.Figure, key int) {
	l := s.current()
	if l == nil || l.start.IsZero() || len(f.Series) == 0 {
		return
	}
	end := s.at.Sub(l.start).Seconds()
	if !l.lines.ended.Empty() {
		end = l.second.x
	}
	at := func(t time.Time) float64 { return t.Sub(l.start).Seconds() }
	for _, one := range l.faults {
		to := end
		if !one.to.IsZero() {
			to = min(at(one.to), end)
		}
		if from := max(at(one.from), 0); from < to {
			f.Grey = append(f.Grey, figure.Stretch{From: from, To: to, Tinted: true})
		}
	}
	for _, leader := range l.leaders {
		if x := at(leader); x >= 0 && x <= end {
			f.Events = append(f.Events, figure.Event{X: x, Kind: "leader elected", Key: key})
		}
	}
}
