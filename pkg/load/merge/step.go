package merge

import (
	"cmp"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// stepRecord is data for a step, kept until its totals are written.
type stepRecord struct {
	step int
	// totals cover the written seconds, by index as in [shape].
	totals  []*packed
	members map[results.MemberSeries]*load.MemberTotal
	// start and end are the times stated by generators; zero without any.
	start, end time.Time
	// first and last are the first and the last second written.
	first, last time.Time
	closed      bool            // one of these seconds was marked as the last
	exampled    map[string]bool // error classes with an example in the records
	gaps        load.Gaps
	until       int64 // ticks that begin before are written
}

func newStepRecord(step int) *stepRecord {
	return &stepRecord{step: step, members: map[results.MemberSeries]*load.MemberTotal{}, exampled: map[string]bool{}}
}

// covers notes a written second.
func (s *stepRecord) covers(start time.Time) {
	if s.first.IsZero() {
		s.first = start
	}
	s.last = start
}

// lasted notes when a generator's step began and ended.
func (s *stepRecord) lasted(start, end time.Time) {
	if s.start.IsZero() || start.Before(s.start) {
		s.start = start
	}
	if end.After(s.end) {
		s.end = end
	}
}

// bounds returns when the step began and ended: the whole seconds if all generators were lost.
func (s *stepRecord) bounds() (start, end time.Time) {
	if s.start.IsZero() {
		return s.first, s.last.Add(time.Second)
	}
	return s.start, s.end
}

// addTotal adds a second's histogram.
func (s *stepRecord) addTotal(i int, h *packed, sh shape) {
	if s.totals == nil {
		s.totals = make([]*packed, sh.seriesCount())
	}
	if s.totals[i] == nil {
		s.totals[i] = histogram.Packed()
	}
	s.totals[i].Merge(h)
}

// addMember adds a member histogram from one generator.
func (s *stepRecord) addMember(t load.MemberTotal) {
	to := s.members[t.Series]
	if to == nil {
		to = &load.MemberTotal{Series: t.Series, Histogram: results.NewMemberHistogram(), Start: t.Start, End: t.End}
		s.members[t.Series] = to
	}
	to.Histogram.Merge(t.Histogram)
	if t.Start.Before(to.Start) {
		to.Start = t.Start
	}
	if t.End.After(to.End) {
		to.End = t.End
	}
}

// memberTotals returns all members' histograms, in member order.
func (s *stepRecord) memberTotals() (list []load.MemberTotal) {
	for _, t := range s.members {
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b load.MemberTotal) int {
		return cmp.Or(cmp.Compare(a.Series.Member, b.Series.Member), cmp.Compare(a.Series.Timing, b.Series.Timing))
	})
	return list
}
