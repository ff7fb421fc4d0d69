package service

import (
	"github.com/coreos/dbtester/pkg/ability/discovery"
	"github.com/coreos/dbtester/pkg/database"
)

// changed notes a change that the consumer receives.
func (c *consumer) changed(change database.Change) {
	s := c.of
	now := s.clock.Now()
	s.stops.Seen(c.last, now)
	c.last = now
	instance, generation, ok := s.Keys.Numbers(string(change.Key))
	if !ok {
		return
	}
	n := name{instance, generation}
	s.mu.Lock()
	defer s.mu.Unlock()
	came, gone := s.heardOf(n)
	if came == nil {
		return
	}
	s.reports.told++
	if _, length := s.stops.Before(now); length > 0 {
		s.reports.delayed++
		s.reports.stopped = max(s.reports.stopped, length)
	}
	of := gone
	if change.New {
		of = came
	}
	s.heard(of).by(c.n, max(s.clock.Since(change.At), 1), change)
	if n == s.markerName() {
		s.tell()
	}
	s.Seen(discovery.ValueTold, change.At, 1)
}

// knows reports whether the consumer received a new registration.
func (c *consumer) knows(r *registration) bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return r.came != nil && r.came.at[c.n] != 0
}
