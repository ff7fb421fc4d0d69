package lock

import (
	"time"

	"github.com/coreos/dbtester/pkg/ability/locks"
)

// Outcome judges the turns of all stages, after End. It calls seen with each observation.
func (c *Contest) Outcome(seen func(name string, at time.Time, number int64)) locks.Outcome {
	ttl := c.Facts.Session.Granted(c.Plan.TTL)
	all := c.stops.All()
	o := locks.Outcome{
		Plan: c.Plan, What: c.Facts.What, By: c.recipe.By(), Waits: c.recipe.Waits, Fence: c.recipe.Fence, Queue: c.recipe.Queue,
		Delayed: c.Facts.Delayed, TTL: ttl, Rule: c.Facts.Session.Rule, Earliest: c.earliest, Latest: c.latest, Began: c.clock.Time(0),
		Stops: all.N, LongestStop: all.Longest.Length, Left: c.left.n, WhyLeft: c.left.text(),
	}
	risky, expires := c.Facts.Lasts(ttl)
	rules := Rules{
		Names: c.Plan.Names, Places: c.recipe.Places,
		Expires: int64(expires), Risky: int64(risky), Earliest: int64(c.earliest), Stops: c.stops.Long(),
	}
	for _, s := range c.stages {
		rules.From, rules.To, rules.Contenders = s.from, s.to, s.each
		is := Judge(s.turns, rules, func(name string, at, number int64) { seen(name, c.clock.Time(at), number) })
		is.Full = s.room.Load() < 0
		is.Missing, is.Why = s.missing.n, s.missing.text()
		is.WhyRefused = s.refused.text()
		o.Stages = append(o.Stages, is)
	}
	return o
}
