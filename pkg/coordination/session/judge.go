package session

import (
	"cmp"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/ability/deaths"
	"github.com/coreos/dbtester/pkg/coordination/keeper"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// shownSurvivors bounds the points on the survivor curve.
const shownSurvivors = 200

// Outcome returns the record, after End.
func (h *Holder) Outcome() deaths.Outcome { return Merge(h.Plan, h.Facts, h.Part()) }

// Part returns this machine's record about its sessions, after End. Its times are on the run clock.
func (h *Holder) Part() Part {
	p := Part{Took: h.grants}
	p.Granted, p.Why, p.Left, p.WhyLeft = len(h.all), text(h.why), h.left, text(h.whyLeft)
	keeps := h.keeper.Counts()
	p.Keeps, p.Longest, p.KeepsLost, p.KeepsLate = histogram.BucketsOf(keeps.Times), keeps.Longest, keeps.Lost, keeps.Late
	if len(h.all) > 0 {
		p.TTL = h.all[0].Is.TTL()
	}
	if !h.death.IsZero() {
		p.Death = h.Stated(h.death)
	}
	for _, s := range h.all {
		h.judge(s, &p)
	}
	slices.SortFunc(p.Ends, func(a, b End) int { return cmp.Compare(a.At, b.At) })
	return p
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// judge judges one session.
func (h *Holder) judge(s *held, p *Part) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	earliest, _ := h.Facts.Ends(s.Is.TTL(), 1)
	ended := !s.end.At.IsZero()
	if s.abandoned {
		p.Abandoned++
	}
	switch {
	case ended && s.end.At.Before(s.Sent.Add(earliest-keeper.Slack(s.Is.TTL()))):
		p.Early++
		h.Seen(deaths.ValueEarly, s.end.At, 1)
	case ended && !s.abandoned && s.Unanswered:
		p.Unrenewed++
	case ended && !s.abandoned:
		p.Missed++
	}
	if !ended || !s.abandoned {
		return
	}
	known := s.end.At
	if !s.end.Since.IsZero() {
		known = s.end.Since
		p.Resolution = max(p.Resolution, s.end.At.Sub(s.end.Since))
	}
	if s.stopped > 0 {
		p.Delayed++
		p.LongestStop = max(p.LongestStop, s.stopped)
		if s.stop.Before(known) {
			known = s.stop
		}
	}
	late, least := s.end.At.Sub(s.Sent.Add(s.Is.TTL())), known.Sub(s.Answered.Add(s.Is.TTL()))
	h.Seen(deaths.ValueLate, s.end.At, int64(late))
	h.Seen(deaths.ValueLateLeast, s.end.At, int64(least))
	p.Ends = append(p.Ends, End{Late: int64(late), Least: int64(least), At: h.Stated(s.end.At).UnixNano()})
	sent := h.Stated(s.Sent)
	p.FirstSent, p.LastSent = earlier(p.FirstSent, sent), later(p.LastSent, sent)
}

// earlier and later return one of two times. A zero time does not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Merge makes one outcome from parts by several machines, whose times are on one clock. Counts add
// up, and percentiles cover all times.
func Merge(plan deaths.Plan, facts database.SessionFacts, parts ...Part) deaths.Outcome {
	o := deaths.Outcome{Plan: plan, Facts: deaths.Facts{What: facts.What, Rule: facts.Rule, Renewal: facts.Renewal, Watch: facts.Watch}}
	var all merged
	for i := range parts {
		all.add(&o, &parts[i])
	}
	o.NotGranted = plan.Held - o.Granted
	if all.took > 0 {
		o.GrantsPerSecond = float64(o.Granted) / all.took.Seconds()
	}
	o.Earliest, o.Latest = facts.Ends(o.TTL, o.Granted)
	o.Keeps = results.SpreadOfHistogram(all.keeps, int64(all.longest))
	o.Expired = len(all.late)
	o.NotExpired = o.Abandoned - o.Expired
	if o.Expired == 0 {
		return o
	}
	o.RenewedNS = int64(all.lastSent.Sub(all.firstSent))
	o.Late, o.LateLeast = results.SpreadOf(all.late), results.SpreadOf(all.least)
	slices.Sort(all.ends)
	death := o.Death.UnixNano()
	o.FirstGone, o.AllGone = time.Duration(all.ends[0]-death), time.Duration(all.ends[len(all.ends)-1]-death)
	o.PerSecond = rate(all.ends)
	o.Survivors = survivors(all.late, o.NotExpired)
	return o
}

// merged holds the parts of an outcome that are computed over all sessions.
type merged struct {
	took                time.Duration
	keeps               *hdrhistogram.Histogram // nil before the first renewal
	longest             time.Duration
	late, least, ends   []int64 // ns
	firstSent, lastSent time.Time
}

// add adds a part.
func (m *merged) add(o *deaths.Outcome, p *Part) {
	o.Granted, o.Abandoned = o.Granted+p.Granted, o.Abandoned+p.Abandoned
	o.Early, o.Unrenewed, o.Missed = o.Early+p.Early, o.Unrenewed+p.Unrenewed, o.Missed+p.Missed
	o.KeepsLost, o.KeepsLate = o.KeepsLost+p.KeepsLost, o.KeepsLate+p.KeepsLate
	o.Delayed, o.Left = o.Delayed+p.Delayed, o.Left+p.Left
	o.Why, o.WhyLeft, o.TTL = cmp.Or(o.Why, p.Why), cmp.Or(o.WhyLeft, p.WhyLeft), cmp.Or(o.TTL, p.TTL)
	o.Resolution, o.LongestStop = max(o.Resolution, p.Resolution), max(o.LongestStop, p.LongestStop)
	o.Death = earlier(o.Death, p.Death)
	m.took, m.longest = max(m.took, p.Took), max(m.longest, p.Longest)
	m.firstSent, m.lastSent = earlier(m.firstSent, p.FirstSent), later(m.lastSent, p.LastSent)
	if len(p.Keeps) > 0 && m.keeps == nil {
		m.keeps = histogram.New()
	}
	p.Keeps.AddTo(m.keeps)
	for _, e := range p.Ends {
		m.late, m.least, m.ends = append(m.late, e.Late), append(m.least, e.Least), append(m.ends, e.At)
	}
}

// fewEnds are too few for a rate.
const fewEnds = 100

// rate returns the sessions that ended per second, from the unix times in nanoseconds when they
// ended, without the first and the last twentieth.
func rate(ends []int64) float64 {
	if len(ends) < fewEnds {
		return 0
	}
	from, to := len(ends)/20, len(ends)-1-len(ends)/20
	if length := time.Duration(ends[to] - ends[from]).Seconds(); length > 0 {
		return float64(to-from) / length
	}
	return 0
}

// survivors returns the numbers that are left by time after the TTL. late is sorted.
func survivors(late []int64, others int) (points []deaths.Survivors) {
	each := max((len(late)+shownSurvivors-1)/shownSurvivors, 1)
	for i, ns := range late {
		if i%each == 0 || i == len(late)-1 {
			points = append(points, deaths.Survivors{After: time.Duration(ns), Left: len(late) - 1 - i + others})
		}
	}
	return points
}
