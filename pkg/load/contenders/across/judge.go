package across

import (
	"cmp"
	"slices"
	"time"
)

// Clock returns the times on a common clock between which the clock of a part showed a time; false
// if that is not known.
type Clock func(ns int64) (earliest, latest int64, ok bool)

// Part has the holdings in one part, timed by its own clock.
type Part struct {
	Held  []Holding
	Clock Clock
}

// mostOpen bounds the holdings of its lock with which a new one is compared: a store that gives a
// lock to more at once is caught by these.
const mostOpen = 100

// Verdict counts the certain overlaps between holdings of different parts, for every time that
// their clocks could have shown within their bounds.
type Verdict struct {
	// Compared holdings were compared with those in other parts.
	Compared int64
	// Overlaps counts holdings that began while one in another part certainly went on. Disorder
	// counts those whose fence was not greater than for an earlier one in another part.
	Overlaps, Disorder int64
	// Unsure counts holdings for which neither an overlap nor its absence is certain: the clocks
	// are not known well enough, or a stopped process may explain it.
	Unsure int64
	// Error is the largest uncertainty, to both sides, in a compared time.
	Error time.Duration
}

// span is a holding by the common clock. It began between Acquired and latest acquired, and ended
// between earliest sent and Sent.
type span struct {
	Holding
	part                         int
	latestAcquired, earliestSent int64
}

// Judge compares holdings in different parts. Holdings within a part are not compared: the part has
// judged them.
func Judge(parts []Part) (v Verdict) {
	var all []span
	for n, p := range parts {
		for _, h := range p.Held {
			s := span{Holding: h, part: n}
			var began, ended bool
			s.Acquired, s.latestAcquired, began = p.Clock(h.Acquired)
			s.earliestSent, s.Sent, ended = p.Clock(h.Sent)
			if !began || !ended {
				v.Unsure++
				continue
			}
			v.Error = max(v.Error, time.Duration(s.latestAcquired-s.Acquired)/2, time.Duration(s.Sent-s.earliestSent)/2)
			all = append(all, s)
		}
	}
	v.Compared = int64(len(all))
	slices.SortFunc(all, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Acquired, b.Acquired), cmp.Compare(a.part, b.part))
	})
	for len(all) > 0 {
		end := 1
		for end < len(all) && all[end].Name == all[0].Name {
			end++
		}
		v.one(all[:end], len(parts))
		all = all[end:]
	}
	return v
}

// one judges holdings of one lock, ordered by the earliest times at which they can have begun.
func (v *Verdict) one(spans []span, parts int) {
	var open []*span              // possibly not ended
	ended := make([]*span, parts) // by part, the one that certainly ended last
	for i := range spans {
		s := &spans[i]
		open = slices.DeleteFunc(open, func(o *span) bool {
			if o.Sent > s.Acquired {
				return false
			}
			if last := ended[o.part]; last == nil || o.Sent > last.Sent {
				ended[o.part] = o
			}
			return true
		})
		certain, possible := false, false
		for _, o := range open {
			if o.part == s.part {
				continue
			}
			possible = true
			if !o.Doubtful && !s.Doubtful && (o.Fence == s.Fence || o.latestAcquired < s.earliestSent && s.latestAcquired < o.earliestSent) {
				certain = true
				break
			}
		}
		switch {
		case certain:
			v.Overlaps++
		case possible:
			v.Unsure++
		}
		if s.behind(ended) {
			v.Disorder++
		}
		if len(open) < mostOpen {
			open = append(open, s)
		}
	}
}

// behind reports whether the fence is not greater than that of a holding in another part that ended
// last before this one began.
func (s *span) behind(ended []*span) bool {
	var last *span
	for part, o := range ended {
		if part != s.part && o != nil && (last == nil || o.Sent > last.Sent) {
			last = o
		}
	}
	return last != nil && !last.Doubtful && !s.Doubtful && s.Fence <= last.Fence
}
