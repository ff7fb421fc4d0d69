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

// heardOf returns the records of the changes of a name, nil for an unknown name. The lock is
// held.
func (s *Service) heardOf(n name) (came, gone **heard) {
	if r := s.all[n]; r != nil {
		return &r.came, &r.gone
	}
	if n.instance == s.leader() && n.generation >= 0 && n.generation < len(s.elections.terms) {
		t := s.elections.terms[n.generation]
		return &t.came, &t.gone
	}
	return nil, nil
}

// heard returns the record of a change, and makes it first if needed. The lock is held.
func (s *Service) heard(of **heard) *heard {
	if *of == nil {
		*of = &heard{at: make([]int64, len(s.consumers))}
	}
	return *of
}

// by notes that a consumer received the change at a moment. The first time counts.
func (h *heard) by(consumer int, at int64, change database.Change) {
	if h.at[consumer] != 0 {
		return
	}
	h.at[consumer] = at
	h.n++
	h.notice(at, change)
}

// notice notes that the change was known at a moment.
func (h *heard) notice(at int64, change database.Change) {
	if h.first == 0 || at < h.first {
		h.first = at
	}
	if !change.Since.IsZero() {
		h.resolution = max(h.resolution, change.At.Sub(change.Since))
	}
}

// knows reports whether the consumer received a new registration.
func (c *consumer) knows(r *registration) bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return r.came != nil && r.came.at[c.n] != 0
}
