package service

import "github.com/coreos/dbtester/pkg/database"

// heardOf returns the records of changes to a name, nil for an unknown name. The lock is held.
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

// heard returns the record of a change, which it makes if needed. The lock is held.
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
