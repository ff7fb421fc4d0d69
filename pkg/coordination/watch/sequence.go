package watch

func newSequence() *sequence {
	return &sequence{by: map[int64]*entry{}, last: map[int64]*entry{}, plain: true}
}

// join adds a watcher that is not established.
func (s *sequence) join(id int32, slow bool) *watcher {
	w := &watcher{id: id, place: int32(len(s.watchers)), seq: s, slow: slow}
	s.watchers = append(s.watchers, w)
	s.plain = false
	return w
}

// establish notes that a watcher hears of all versions after one, and after those that are judged.
func (s *sequence) establish(w *watcher, after, now int64) {
	w.after, w.since = max(after, s.closed), now
	s.greatest = max(s.greatest, w.after)
	s.count()
}

// lose notes that a watcher hears of nothing more.
func (s *sequence) lose(w *watcher) {
	w.broken, w.cursor = true, nil
	s.count()
}

func (s *sequence) count() {
	s.active, s.plain = 0, true
	for _, w := range s.watchers {
		if w.since > 0 && !w.broken {
			s.active++
		} else {
			s.plain = false
		}
	}
}

// find returns the entry of a version, or nil. It is often the one after the entry that the watcher
// received last.
func (s *sequence) find(w *watcher, version int64) *entry {
	if c := w.cursor; c != nil && c.next != nil && c.next.version == version {
		return c.next
	}
	return s.by[version]
}

// insert adds a version that is not in the list.
func (s *sequence) insert(e *entry) {
	s.by[e.version] = e
	after := s.tail
	for after != nil && after.version > e.version {
		after = after.prev
	}
	e.prev = after
	if after == nil {
		e.next, s.head = s.head, e
	} else {
		e.next, after.next = after.next, e
	}
	if e.next == nil {
		s.tail = e
	} else {
		e.next.prev = e
	}
}

// chain puts an entry among those of its key, and returns the number of watchers that will not
// receive it, because they have received a newer one.
func (s *sequence) chain(e *entry) (skipped int) {
	newest := s.last[e.key]
	if newest == nil || newest.version < e.version {
		if e.older = newest; newest != nil {
			newest.newer = e
		}
		s.last[e.key] = e
		return 0
	}
	n := newest
	for n.older != nil && n.older.version > e.version {
		n = n.older
	}
	if e.older, e.newer = n.older, n; n.older != nil {
		n.older.newer = e
	}
	n.older = e
	for _, w := range s.watchers {
		at := n.heardBy(w)
		if n.done && w.expects(e.version) {
			at = n.last
		}
		if at != 0 {
			s.resolve(e, w.place, -max(at, -at))
			skipped++
		}
	}
	return skipped
}

// resolve notes when the watcher at a place received an entry or a newer one instead.
func (s *sequence) resolve(e *entry, place int32, at int64) {
	if int(place) >= len(e.heard) {
		e.heard = s.grow(e.heard)
	}
	if e.heard[place] == 0 {
		e.n++
	}
	e.heard[place] = at
}

// mostSpare is the number of lists from closed entries that are kept for others, so that a steady
// load makes little garbage.
const mostSpare = 4

// grow gives an entry's list a place for each watcher.
func (s *sequence) grow(heard []int64) []int64 {
	n := len(s.watchers)
	if last := len(s.spare) - 1; heard == nil && last >= 0 {
		heard, s.spare = s.spare[last], s.spare[:last]
		if cap(heard) >= n {
			heard = heard[:n]
			clear(heard)
			return heard
		}
		heard = nil
	}
	return append(heard, make([]int64, n-len(heard))...)
}

// expects reports whether a watcher must receive a version.
func (w *watcher) expects(version int64) bool { return w.since > 0 && !w.broken && version > w.after }

// complete reports whether all watchers that must receive an entry have.
func (s *sequence) complete(e *entry) bool {
	switch {
	case e.n < s.active && e.version > s.greatest:
		return false
	case s.plain && e.version > s.greatest:
		return true
	}
	for _, w := range s.watchers {
		if w.expects(e.version) && e.heardBy(w) == 0 {
			return false
		}
	}
	return true
}

// close ends an entry, forgets all entries up to the first that is open, and returns the number
// that it forgot.
func (s *sequence) close(e *entry) (forgotten int64) {
	for _, at := range e.heard {
		e.last = max(e.last, at, -at)
	}
	if e.heard != nil && len(s.spare) < mostSpare {
		s.spare = append(s.spare, e.heard)
	}
	e.done, e.heard = true, nil
	s.closed = max(s.closed, e.version)
	for h := s.head; h != nil && h.done; h = s.head {
		s.remove(h)
		s.done = max(s.done, h.version)
		forgotten++
	}
	return forgotten
}

// remove takes an entry from the list. A key's newest entry is kept for its next one.
func (s *sequence) remove(e *entry) {
	if s.replaced != nil {
		s.replaced.settle(e)
	}
	delete(s.by, e.version)
	if e.prev == nil {
		s.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		s.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	if e.prev, e.older = nil, nil; e.newer != nil {
		e.newer.older = nil
	}
	if s.last[e.key] == e {
		e.next = nil // else all that follows would be kept as long as it
	}
}

// newerHeard returns when all watchers had received the write that followed w, which has a version,
// to the same key, or a still newer one; 0 if that is not known.
func (s *sequence) newerHeard(w *write, version int64) int64 {
	if all, found := s.replaced.next(w.key, version); found {
		return all
	}
	n := s.last[w.key]
	for n != nil && n.older != nil && n.older.version > version {
		n = n.older
	}
	if n == nil || n.done || n.version <= version || !s.complete(n) {
		return 0
	}
	return s.allHeard(n, w.sent)
}
