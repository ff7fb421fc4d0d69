// Package expiry ends sessions by one of the laws of real databases, or by a wrong one. It reads no
// clock.
package expiry

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Law is when a session ends that is not renewed.
type Law string

// The laws.
const (
	// Exact ends a session after its TTL.
	Exact Law = "exact"
	// Ticked ends it at the next multiple of [Tick].
	Ticked Law = "ticked"
	// Limited ends at most [PerSecond] sessions in a second, in the order in which their TTLs end.
	Limited Law = "limited"
	// Doubled ends it after twice its TTL.
	Doubled Law = "doubled"
)

// Laws returns all laws.
func Laws() []Law { return []Law{Exact, Ticked, Limited, Doubled} }

// Tick and PerSecond apply to the laws [Ticked] and [Limited].
const (
	Tick      = 2 * time.Second
	PerSecond = 1000
)

// Valid returns an error for an unknown law.
func (l Law) Valid() error {
	if !slices.Contains(Laws(), l) {
		return fmt.Errorf("expiry must be one of %q, got %q", Laws(), l)
	}
	return nil
}

// Rule returns the law in words.
func (l Law) Rule() string {
	switch l {
	case Ticked:
		return fmt.Sprintf("the TTL, rounded up to ticks of %v", Tick)
	case Limited:
		return fmt.Sprintf("the TTL, and at most %d a second", PerSecond)
	case Doubled:
		return "twice the TTL"
	}
	return "the TTL"
}

// Ends returns the time from its last renewal until a session ends, at least and at most, if n end
// at once.
func (l Law) Ends(ttl time.Duration, n int) (earliest, latest time.Duration) {
	switch l {
	case Ticked:
		return ttl, ttl + Tick
	case Limited:
		return ttl, ttl + time.Duration(n)*time.Second/PerSecond
	case Doubled:
		return 2 * ttl, 2 * ttl
	}
	return ttl, ttl
}

// Table has the sessions of a server and their keys. It is safe for concurrent use. Times are given
// by the caller, in any order.
type Table struct {
	law   Law
	early int // ends each session with such a number at half its TTL, or 0
	mu    sync.Mutex
	last  int64
	all   map[int64]*session
	slot  time.Time // of the last end under [Limited]
	start time.Time // of the ticks
	until time.Time // up to which sessions have ended
}

type session struct {
	id   int64
	ttl  time.Duration
	due  time.Time // when the TTL is over
	keys []string
}

// NewTable returns an empty table. Each early-th session ends at half its TTL; 0 means that no
// session does.
func NewTable(law Law, early int, start time.Time) *Table {
	return &Table{law: law, early: early, all: map[int64]*session{}, start: start}
}

// Grant begins a session, and returns its number.
func (t *Table) Grant(ttl time.Duration, now time.Time) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	t.all[t.last] = &session{id: t.last, ttl: ttl}
	t.renew(t.all[t.last], now)
	return t.last
}

// renew sets when a session ends.
func (t *Table) renew(s *session, now time.Time) {
	switch s.due = now.Add(s.ttl); {
	case t.early > 0 && s.id%int64(t.early) == 0:
		s.due = now.Add(s.ttl / 2)
	case t.law == Doubled:
		s.due = now.Add(2 * s.ttl)
	case t.law == Ticked:
		if over := s.due.Sub(t.start) % Tick; over > 0 {
			s.due = s.due.Add(Tick - over)
		}
	}
}

// Keep renews a session, and reports whether there is one.
func (t *Table) Keep(id int64, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(now)
	s := t.all[id]
	if s != nil {
		t.renew(s, now)
	}
	return s != nil
}

// Attach adds a key to a session, and reports whether there is one.
func (t *Table) Attach(id int64, key string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(now)
	s := t.all[id]
	if s != nil {
		s.keys = append(s.keys, key)
	}
	return s != nil
}

// Take attaches like [Table.Attach] unless a session has the key. It reports whether a session has
// that number, and whether it has the key now.
func (t *Table) Take(id int64, key string, now time.Time) (there, taken bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(now)
	s := t.all[id]
	if s == nil {
		return false, false
	}
	for _, other := range t.all {
		if slices.Contains(other.keys, key) {
			return true, false
		}
	}
	s.keys = append(s.keys, key)
	return true, true
}

// Alive reports whether a session has not ended.
func (t *Table) Alive(id int64, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(now)
	return t.all[id] != nil
}

// Release ends a session.
func (t *Table) Release(id int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, id)
}

// Names returns the session keys that begin with a prefix, without it.
func (t *Table) Names(prefix string, now time.Time) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(now)
	var names []string
	for _, s := range t.all {
		for _, key := range s.keys {
			if name, ok := strings.CutPrefix(key, prefix); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// expire ends the sessions that are due. The lock is held.
func (t *Table) expire(now time.Time) {
	if !now.After(t.until) {
		return
	}
	t.until = now
	var due []*session
	for _, s := range t.all {
		if !s.due.After(now) {
			due = append(due, s)
		}
	}
	slices.SortFunc(due, func(a, b *session) int { return a.due.Compare(b.due) })
	for _, s := range due {
		if t.law == Limited {
			next := t.slot.Add(time.Second / PerSecond)
			if next.Before(s.due) {
				next = s.due
			}
			if next.After(now) {
				return
			}
			t.slot = next
		}
		delete(t.all, s.id)
	}
}
