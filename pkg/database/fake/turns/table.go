// Package turns decides whose turn it is to hold a lock: in a queue or by a lottery, a known time
// after the holder before, and wrongly on request. It reads no clock.
package turns

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Rules determine how locks are handed over.
type Rules struct {
	// HandOver is the time from the end of one turn to the next.
	HandOver time.Duration
	// TwoHolders: each turn with such a number, counted where a session waits behind it, is given
	// to two at once; 0 means no turn.
	TwoHolders int
	// OldFence: each turn with such a number has the fence of the previous turn; 0 means no turn.
	OldFence int
}

// Seed makes lotteries the same in each run.
const Seed = 1

// Table has the locks of a server. It is safe for concurrent use. Times are given by the caller, in
// any order.
type Table struct {
	rules Rules
	alive func(session int64) bool
	mu    sync.Mutex
	locks map[string]*lock
	fence int64
	draw  *rand.Rand
}

// lock is the queue for a lock, and its holders.
type lock struct {
	waiting []waiter // in the order in which they asked
	holding []holder
	free    time.Time // when the next turn may begin
	turns   int       // that began while another session waited
	all     int       // turns
	changed chan struct{}
}

type waiter struct {
	session int64
	lottery bool
}

type holder struct{ session, fence int64 }

// NewTable returns a table without locks. The function reports whether a session has not ended.
func NewTable(rules Rules, alive func(session int64) bool) *Table {
	return &Table{rules: rules, alive: alive, locks: map[string]*lock{}, draw: rand.New(rand.NewPCG(Seed, Seed))}
}

// Enter makes a session wait for a lock, in the queue or by lottery. One that already waits or
// holds the lock stays as it is.
func (t *Table) Enter(name string, session int64, lottery bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.locks[name]
	if l == nil {
		l = &lock{changed: make(chan struct{})}
		t.locks[name] = l
	}
	if l.waits(session) < 0 && l.holds(session) < 0 {
		l.waiting = append(l.waiting, waiter{session, lottery})
		l.notify()
	}
}

// State describes its turn to a session.
type State struct {
	// Held means that the session holds the lock, with a fence.
	Held  bool
	Fence int64
	// Gone means that it neither holds the lock nor waits for it.
	Gone bool
	// Changed is closed at the next change, and Rest the time until the next turn may begin, if
	// it has not begun.
	Changed <-chan struct{}
	Rest    time.Duration
}

// Ask begins turns that are due, and returns the session state.
func (t *Table) Ask(name string, session int64, now time.Time) State {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.locks[name]
	if l == nil {
		return State{Gone: true}
	}
	t.begin(l, now)
	if i := l.holds(session); i >= 0 {
		return State{Held: true, Fence: l.holding[i].fence}
	}
	if l.waits(session) < 0 {
		return State{Gone: true}
	}
	return State{Changed: l.changed, Rest: max(0, l.free.Sub(now))}
}

// Leave ends a session's turn or wait, and reports whether there was a turn.
func (t *Table) Leave(name string, session int64, now time.Time) (held bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.locks[name]
	if l == nil {
		return false
	}
	t.expire(l, now)
	if i := l.waits(session); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		l.notify()
	}
	if i := l.holds(session); i >= 0 {
		l.end(i, now.Add(t.rules.HandOver))
		return true
	}
	return false
}

// expire ends the turns and waits of ended sessions. The table is locked.
func (t *Table) expire(l *lock, now time.Time) {
	waiting := len(l.waiting)
	l.waiting = slices.DeleteFunc(l.waiting, func(w waiter) bool { return !t.alive(w.session) })
	if len(l.waiting) != waiting {
		l.notify()
	}
	for i := len(l.holding) - 1; i >= 0; i-- {
		if !t.alive(l.holding[i].session) {
			l.end(i, now.Add(t.rules.HandOver))
		}
	}
}

// begin gives the next turn, if it is due. The table is locked.
func (t *Table) begin(l *lock, now time.Time) {
	t.expire(l, now)
	if len(l.holding) > 0 || len(l.waiting) == 0 || now.Before(l.free) {
		return
	}
	behind := len(l.waiting) > 1
	t.give(l)
	if !behind {
		return
	}
	if l.turns++; t.rules.TwoHolders > 0 && l.turns%t.rules.TwoHolders == 0 {
		t.give(l)
	}
}

// give gives a turn to a waiting session. The table is locked.
func (t *Table) give(l *lock) {
	next := 0
	if l.waiting[0].lottery {
		next = t.draw.IntN(len(l.waiting))
	}
	l.all++
	if t.rules.OldFence == 0 || l.all%t.rules.OldFence != 0 {
		t.fence++
	}
	l.holding = append(l.holding, holder{l.waiting[next].session, t.fence})
	l.waiting = slices.Delete(l.waiting, next, next+1)
	l.notify()
}

func (l *lock) waits(session int64) int {
	return slices.IndexFunc(l.waiting, func(w waiter) bool { return w.session == session })
}

func (l *lock) holds(session int64) int {
	return slices.IndexFunc(l.holding, func(h holder) bool { return h.session == session })
}

// end ends a turn; the next may begin at a time.
func (l *lock) end(i int, free time.Time) {
	l.holding = slices.Delete(l.holding, i, i+1)
	l.free = free
	l.notify()
}

func (l *lock) notify() {
	close(l.changed)
	l.changed = make(chan struct{})
}
