package service

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/ability/discovery"
	"github.com/coreos/dbtester/pkg/coordination/keeper"
	"github.com/coreos/dbtester/pkg/results"
)

// shownFaults is the most wrong changes that a record names.
const shownFaults = 20

// Outcome returns the record, after End.
func (s *Service) Outcome() discovery.Outcome {
	f, keeps := s.Facts, s.keeper.Counts()
	o := discovery.Outcome{
		Plan: s.Plan, Facts: discovery.Facts{What: f.What, Rule: f.Rule, Renewal: f.Renewal, Watch: f.Watch, Beside: f.Beside},
		Began: s.began.UTC(), Quiet: s.Plan.After, BehindWhy: text(s.end.behind), Delayed: s.reports.delayed, LongestStop: s.reports.stopped,
		Registered: discovery.Registered{
			Why: text(s.why), Keeps: results.SpreadOfHistogram(keeps.Times, int64(keeps.Longest)), KeepsLost: keeps.Lost, KeepsLate: keeps.Late, Left: s.end.left, WhyLeft: text(s.end.why),
		},
		Counts: discovery.Counts{Told: s.reports.told},
	}
	for _, c := range s.consumers {
		if c.lasted() {
			o.Watching++
		} else {
			o.Broken++
			o.BrokenWhy = cmp.Or(o.BrokenWhy, text(c.err))
		}
	}
	all := slices.SortedFunc(maps.Values(s.all), func(a, b *registration) int {
		return cmp.Or(cmp.Compare(a.instance, b.instance), cmp.Compare(a.generation, b.generation))
	})
	for _, r := range all {
		if r.generation == 0 && r.instance < s.Plan.Instances {
			o.Registered.Registered++
			o.TTL = r.Is.TTL()
		}
		s.judge(r, &o)
	}
	o.NotRegistered = s.Plan.Instances - o.Registered.Registered
	if s.took > 0 {
		o.PerSecond = float64(o.Registered.Registered) / s.took.Seconds()
	}
	o.Earliest, o.Latest = f.Ends(o.TTL, 1)
	for _, a := range s.acts {
		o.Changes = append(o.Changes, s.change(a, &o))
	}
	return o
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// judge judges a registration's end that consumers received.
func (s *Service) judge(r *registration, o *discovery.Outcome) {
	if r.gone == nil {
		return
	}
	ttl := r.Is.TTL()
	earliest, _ := s.Facts.Ends(ttl, 1)
	at := s.clock.Instant(r.gone.first)
	alive := r.ended.IsZero() || at.Before(r.ended)
	switch after := r.Unrenewed(at); {
	case !alive && !r.dead: // it was released
	case after < earliest-keeper.Slack(ttl):
		o.Early++
		if alive {
			o.Alive++
		}
		s.Seen(discovery.ValueEarly, at, 1)
		s.witness(o, discovery.Witness{Fault: discovery.Early, Instance: r.instance, Consumer: -1, After: after})
	case alive && r.Unanswered:
		o.Unrenewed++
	case alive:
		o.Missed++
	}
}

// witness records a wrong change, unless there are enough.
func (s *Service) witness(o *discovery.Outcome, w discovery.Witness) {
	if len(o.Witnesses) < shownFaults {
		o.Witnesses = append(o.Witnesses, w)
	}
}

// change returns the record for a death, a deploy or an election.
func (s *Service) change(a *act, o *discovery.Outcome) discovery.Change {
	c := discovery.Change{Kind: a.Kind, Instance: a.Instance, At: a.sent.Sub(s.began), Why: text(a.err)}
	if a.before == nil { // there was no leader
		return c
	}
	noticed, known := s.told(a, o)
	if noticed == nil || known == nil {
		return c
	}
	first, end := s.clock.Instant(noticed.first), s.clock.Instant(s.lastOf(known, &c))
	if c.All = c.All && !first.Before(a.sent); !c.All { // a session may have ended before its instance
		return c
	}
	c.Whole = end.Sub(a.sent)
	over := a.before.Sent.Add(a.before.Is.TTL())
	switch a.Kind {
	case discovery.Death:
		c.Left, c.Late, c.FanOut = over.Sub(a.sent), first.Sub(over), end.Sub(first)
		s.Seen(discovery.ValueDeath, end, int64(c.Whole))
	case discovery.Deploy:
		c.Again, c.FanOut = a.again.Sub(a.sent), end.Sub(a.again)
		s.Seen(discovery.ValueDeploy, end, int64(c.Whole))
	case discovery.Election:
		elected := s.elections.terms[a.term+1].elected
		c.Left, c.Late, c.HandOff, c.FanOut = over.Sub(a.sent), first.Sub(over), elected.Sub(first), end.Sub(elected)
		s.Seen(discovery.ValueLeader, end, int64(c.Whole))
	}
	s.Seen(discovery.ValueFanOut, end, int64(c.FanOut))
	return c
}

// told counts the consumers that did not receive a change. It returns the records for the first
// notice and for the change that all consumers are then to receive, nil if no consumer received it,
// or if it did not happen.
func (s *Service) told(a *act, o *discovery.Outcome) (noticed, known *heard) {
	gone := a.before.gone
	if a.Kind == discovery.Election {
		gone = s.elections.terms[a.term].gone
	}
	s.missing(a.before, gone, o) // the death, or the release
	if a.Kind != discovery.Deploy {
		o.Resolution = max(o.Resolution, resolution(gone), a.before.Answered.Sub(a.before.Sent))
	}
	switch {
	case a.Kind == discovery.Death:
		return gone, gone
	case a.Kind == discovery.Deploy && a.after != nil:
		known = a.after.came
		s.missing(a.after, known, o)
		noticed = known
	case a.Kind == discovery.Election && a.term+1 < len(s.elections.terms):
		next := s.elections.terms[a.term+1]
		known = next.came
		s.missing(next.by, known, o)
		noticed = gone
	case a.Kind == discovery.Election:
		o.Behind += len(s.consumers) // there was no next leader
	}
	o.Resolution = max(o.Resolution, resolution(known))
	return noticed, known
}

// lastOf returns when the last consumer received a change, and sets the number that did.
func (s *Service) lastOf(known *heard, c *discovery.Change) (last int64) {
	c.Heard, c.All = known.n, true
	for n, one := range s.consumers {
		if one.lasted() {
			c.All = c.All && known.at[n] != 0
			last = max(last, known.at[n])
		}
	}
	c.All = c.All && last > 0
	return last
}

func resolution(h *heard) time.Duration {
	if h == nil {
		return 0
	}
	return h.resolution
}

// missing counts the consumers that did not receive a change. The change is lost for those that
// received the instance registered after the load, unless that came before the change.
func (s *Service) missing(r *registration, known *heard, o *discovery.Outcome) {
	if known == nil {
		o.Behind += len(s.consumers) // the database has not noticed it, or no consumer was notified
		return
	}
	for n, one := range s.consumers {
		switch {
		case known.at[n] != 0 || !one.lasted():
		case s.marker == nil || s.marker.came == nil || s.marker.came.at[n] == 0 || known.first > s.clock.Since(s.marker.begun):
			o.Behind++
		default:
			o.Lost++
			s.Seen(discovery.ValueLost, s.clock.Instant(known.first), 1)
			s.witness(o, discovery.Witness{Fault: discovery.Lost, Instance: r.instance, Consumer: n})
		}
	}
}
