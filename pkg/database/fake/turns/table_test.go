package turns

import (
	"testing"
	"time"
)

const name = "a"

// table returns a table whose sessions end when they are put into dead.
func table(rules Rules) (t *Table, dead map[int64]bool) {
	dead = map[int64]bool{}
	return NewTable(rules, func(session int64) bool { return !dead[session] }), dead
}

// A queue serves sessions in the order in which they asked, each a hand-over after the turn
// before, and fences grow.
func TestQueue(t *testing.T) {
	const handOver = 10 * time.Millisecond
	table, _ := table(Rules{HandOver: handOver})
	now := time.Unix(1000, 0)
	for session := range int64(5) {
		table.Enter(name, session, false)
		table.Enter(name, session, false) // no second place
	}
	last := int64(0)
	for session := range int64(5) {
		for other := range int64(5) {
			is := table.Ask(name, other, now)
			if is.Held != (other == session) || is.Gone != (other < session) {
				t.Fatalf("session %d is %+v in the turn of session %d", other, is, session)
			}
		}
		is := table.Ask(name, session, now)
		if is.Fence <= last {
			t.Errorf("fence %d follows %d", is.Fence, last)
		}
		last = is.Fence
		if !table.Leave(name, session, now) || table.Leave(name, session, now) {
			t.Error("a turn must end once")
		}
		if next := table.Ask(name, session+1, now.Add(handOver-time.Millisecond)); session < 4 && (next.Held || next.Rest != time.Millisecond) {
			t.Errorf("a moment before its turn, session %d is %+v", session+1, next)
		}
		now = now.Add(handOver)
	}
}

// A lottery serves many sessions alike, in no order.
func TestLottery(t *testing.T) {
	table, _ := table(Rules{})
	const sessions, turns = 4, 4000
	for session := range int64(sessions) {
		table.Enter(name, session, true)
	}
	var served [sessions]int
	inOrder, last := 0, int64(-1)
	now := time.Unix(1000, 0)
	for range turns {
		for session := range int64(sessions) {
			if table.Ask(name, session, now).Held {
				served[session]++
				if session == (last+1)%sessions {
					inOrder++
				}
				last = session
				table.Leave(name, session, now)
				table.Enter(name, session, true)
				break
			}
		}
	}
	for session, n := range served {
		if n < turns/sessions*9/10 || n > turns/sessions*11/10 {
			t.Errorf("session %d was served %d times of %d", session, n, turns)
		}
	}
	if inOrder > turns/2 {
		t.Errorf("%d of %d turns were in order", inOrder, turns)
	}
}

// Sessions that ended hold nothing and wait for nothing.
func TestEnds(t *testing.T) {
	table, dead := table(Rules{})
	now := time.Unix(1000, 0)
	for session := range int64(3) {
		table.Enter(name, session, false)
	}
	if !table.Ask(name, 0, now).Held {
		t.Fatal("the first does not hold the lock")
	}
	waits := table.Ask(name, 2, now)
	dead[0], dead[1] = true, true
	if !table.Ask(name, 2, now).Held {
		t.Error("the lock of a session that ended has not passed to the one that waits")
	}
	select {
	case <-waits.Changed:
	default:
		t.Error("the change was not announced")
	}
	if table.Leave(name, 0, now) || !table.Ask(name, 1, now).Gone {
		t.Error("a session that ended has a lock or a place")
	}
}

// A wait that was given up leaves no place.
func TestLeave(t *testing.T) {
	table, _ := table(Rules{})
	now := time.Unix(1000, 0)
	for session := range int64(3) {
		table.Enter(name, session, false)
	}
	table.Ask(name, 0, now)
	if table.Leave(name, 1, now) {
		t.Error("a wait was taken for a turn")
	}
	table.Leave(name, 0, now)
	if !table.Ask(name, 2, now).Held {
		t.Error("the place that was given up is still in front")
	}
}

// The wrong rules are wrong as often as they say.
func TestWrong(t *testing.T) {
	table, _ := table(Rules{TwoHolders: 10, OldFence: 7})
	now := time.Unix(1000, 0)
	for session := range int64(3) {
		table.Enter(name, session, false)
	}
	const turns = 1000
	two, old, last := 0, 0, int64(0)
	for n := 0; n < turns; {
		holds := 0
		for session := range int64(3) {
			if is := table.Ask(name, session, now); is.Held {
				holds++
			}
		}
		if holds > 1 {
			two++
		}
		for session := range int64(3) {
			is := table.Ask(name, session, now)
			if !is.Held {
				continue
			}
			if n++; is.Fence <= last {
				old++
			}
			last = max(last, is.Fence)
			table.Leave(name, session, now)
			table.Enter(name, session, false)
			break // the other holder's turn ends in the next round
		}
	}
	if two < turns/10*8/10 {
		t.Errorf("two held the lock %d times in %d turns", two, turns)
	}
	if old < turns/7*9/10 {
		t.Errorf("%d of %d fences did not grow", old, turns)
	}
}
