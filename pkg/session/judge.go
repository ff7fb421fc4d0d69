package session

import (
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/ability/deaths"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// shownSurvivors bounds the points of the curve of survivors.
const shownSurvivors = 200

// slack is what an end may come before the earliest time that the rule allows: members count
// TTLs with clocks of their own, in milliseconds.
func slack(ttl time.Duration) time.Duration { return 2*time.Millisecond + ttl/1000 }

// Outcome is what became of the sessions, after End.
func (h *Holder) Outcome() deaths.Outcome {
	o := deaths.Outcome{
		Plan: h.Plan, What: h.Facts.What, Rule: h.Facts.Rule, Renewal: h.Facts.Renewal, Watch: h.Facts.Watch,
		Granted: len(h.all), NotGranted: h.Plan.Held - len(h.all), Why: text(h.why),
		Keeps: h.renewals(), KeepsLost: h.lost, KeepsLate: h.late, Death: h.death,
		Left: h.left, WhyLeft: text(h.whyLeft),
	}
	if h.grants > 0 {
		o.GrantsPerSecond = float64(len(h.all)) / h.grants.Seconds()
	}
	if len(h.all) > 0 {
		o.TTL = h.all[0].is.TTL()
	}
	o.Earliest, o.Latest = h.Facts.Ends(o.TTL, len(h.all))
	var j judged
	for _, s := range h.all {
		j.add(h, s, &o)
	}
	o.Expired = len(j.late)
	o.NotExpired = o.Abandoned - o.Expired
	if len(j.late) == 0 {
		return o
	}
	o.RenewedNS = int64(j.lastSent.Sub(j.firstSent))
	o.Late, o.LateLeast = results.SpreadOf(j.late), results.SpreadOf(j.least)
	slices.SortFunc(j.ends, time.Time.Compare)
	o.FirstGone, o.AllGone = j.ends[0].Sub(h.death), j.ends[len(j.ends)-1].Sub(h.death)
	o.PerSecond = rate(j.ends)
	o.Survivors = survivors(j.late, o.NotExpired)
	return o
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// judged are the abandoned sessions that ended.
type judged struct {
	late, least         []int64 // ns
	ends                []time.Time
	firstSent, lastSent time.Time
}

// add judges one session.
func (j *judged) add(h *Holder, s *held, o *deaths.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	earliest, _ := h.Facts.Ends(s.is.TTL(), 1)
	ended := !s.end.At.IsZero()
	if s.abandoned {
		o.Abandoned++
	}
	switch {
	case ended && s.end.At.Before(s.sent.Add(earliest-slack(s.is.TTL()))):
		o.Early++
		h.Seen(deaths.ValueEarly, s.end.At, 1)
	case ended && !s.abandoned && s.unanswered:
		o.Unrenewed++
	case ended && !s.abandoned:
		o.Missed++
	}
	if !ended || !s.abandoned {
		return
	}
	known := s.end.At
	if !s.end.Since.IsZero() {
		known = s.end.Since
		o.Resolution = max(o.Resolution, s.end.At.Sub(s.end.Since))
	}
	if s.stopped > 0 {
		o.Delayed++
		o.LongestStop = max(o.LongestStop, s.stopped)
		if s.stop.Before(known) {
			known = s.stop
		}
	}
	late, least := s.end.At.Sub(s.sent.Add(s.is.TTL())), known.Sub(s.answered.Add(s.is.TTL()))
	h.Seen(deaths.ValueLate, s.end.At, int64(late))
	h.Seen(deaths.ValueLateLeast, s.end.At, int64(least))
	j.late, j.least, j.ends = append(j.late, int64(late)), append(j.least, int64(least)), append(j.ends, s.end.At)
	if j.firstSent.IsZero() || s.sent.Before(j.firstSent) {
		j.firstSent = s.sent
	}
	if s.sent.After(j.lastSent) {
		j.lastSent = s.sent
	}
}

// renewals is the spread of the times of renewals that were answered, nil without any.
func (h *Holder) renewals() *results.Spread {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := func(q float64) int64 { return histogram.Quantile(h.keeps, q) }
	if h.keeps.TotalCount() == 0 {
		return nil
	}
	return &results.Spread{N: h.keeps.TotalCount(), P50: at(.5), P99: at(.99), P999: at(.999), Max: int64(h.longest)}
}

// fewEnds are too few for a rate.
const fewEnds = 100

// rate is the number of ends in a second, without the first and the last twentieth of them.
func rate(ends []time.Time) float64 {
	if len(ends) < fewEnds {
		return 0
	}
	from, to := len(ends)/20, len(ends)-1-len(ends)/20
	if length := ends[to].Sub(ends[from]).Seconds(); length > 0 {
		return float64(to-from) / length
	}
	return 0
}

// survivors is how many are left by time after the TTL. late is sorted.
func survivors(late []int64, others int) (points []deaths.Survivors) {
	each := max((len(late)+shownSurvivors-1)/shownSurvivors, 1)
	for i, ns := range late {
		if i%each == 0 || i == len(late)-1 {
			points = append(points, deaths.Survivors{After: time.Duration(ns), Left: len(late) - 1 - i + others})
		}
	}
	return points
}
