package pool

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// members grants sessions numbered from 1, and answers according to its fields.
type members struct {
	last         int64
	open         map[int64]bool
	kept         []int64
	lost, silent bool // grants and ends have no answer, or no session exists any more
	panics       bool
}

func (m *members) Grant(context.Context, time.Duration) (database.SessionID, error) {
	if m.silent {
		return database.SessionID{}, database.MaybeApplied(database.ClassTimeout, errors.New("no answer"))
	}
	m.last++
	m.open[m.last] = true
	return database.NumberedSession(m.last), nil
}

func (m *members) KeepAlive(_ context.Context, id database.SessionID) error {
	if m.panics {
		panic("a bug")
	}
	if m.lost || !m.open[id.Number()] {
		return database.NotApplied(database.ClassNotFound, database.ErrNoSession)
	}
	m.kept = append(m.kept, id.Number())
	return nil
}

func (m *members) Revoke(_ context.Context, id database.SessionID) error {
	switch {
	case m.silent:
		return database.MaybeApplied(database.ClassTimeout, errors.New("no answer"))
	case m.lost:
		return database.NotApplied(database.ClassNotFound, database.ErrNoSession)
	}
	delete(m.open, id.Number())
	return nil
}

// filled returns a pool with some sessions.
func filled(t *testing.T, n int64) (*Pool, *members) {
	t.Helper()
	m := &members{open: map[int64]bool{}}
	p := New(time.Minute)
	if err := p.Fill(t.Context(), n, []database.Leaser{m}, time.Second); err != nil {
		t.Fatalf("fill: %v", err)
	}
	return p, m
}

// end ends the remaining sessions, and compares the counts.
func end(t *testing.T, p *Pool, m *members, want Counts) error {
	t.Helper()
	got, err := p.End(t.Context(), []database.Leaser{m}, time.Second)
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got.Before+got.Begun != got.Revoked+got.Ended+got.Expired+got.Left {
		t.Errorf("%+v does not account for each session that was granted", got)
	}
	return err
}

// Sessions are renewed one after the other, and the one with the oldest renewal is ended.
func TestOrder(t *testing.T) {
	p, m := filled(t, 3)
	for range 4 {
		if err := p.KeepAlive(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for _, do := range []func(context.Context, database.Leaser) error{p.Grant, p.Revoke, p.KeepAlive, p.KeepAlive, p.KeepAlive} {
		if err := do(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []int64{1, 2, 3, 1, 3, 1, 4} {
		if i >= len(m.kept) || m.kept[i] != want {
			t.Fatalf("sessions were renewed in the order %v, want 1 2 3 1, then 3 1 4 after 2 was ended", m.kept)
		}
	}
	if err := end(t, p, m, Counts{Before: 3, Begun: 1, Revoked: 1, Ended: 3}); err != nil || len(m.open) > 0 {
		t.Errorf("%d sessions are left: %v", len(m.open), err)
	}
}

// A request that finds no session is not sent, and each session is counted by its end.
func TestAccounts(t *testing.T) {
	p, m := filled(t, 3)
	m.panics = true
	func() {
		defer func() { _ = recover() }()
		_ = p.KeepAlive(t.Context(), m)
	}()
	m.panics, m.silent = false, true
	if outcome, _ := database.Classify(p.Grant(t.Context(), m)); outcome != workload.Unknown {
		t.Errorf("a grant without an answer is %v", outcome)
	}
	if err := p.Revoke(t.Context(), m); err == nil || p.Waiting() != 3 {
		t.Errorf("a session that was perhaps ended must be ended again: %v, %d wait", err, p.Waiting())
	}
	m.silent, m.lost = false, true
	if err := p.KeepAlive(t.Context(), m); !errors.Is(err, database.ErrNoSession) {
		t.Errorf("the renewal of a session that has ended returned %v", err)
	}
	if err := p.Revoke(t.Context(), m); err != nil {
		t.Errorf("the end of a session that has ended is no error, got %v", err)
	}
	m.lost, m.silent = false, true
	if err := end(t, p, m, Counts{Before: 3, Doubtful: 1, Expired: 2, Left: 1}); err == nil {
		t.Error("a session is left without a reason")
	}
	if _, class := database.Classify(p.KeepAlive(t.Context(), m)); class != database.ClassNotFound {
		t.Errorf("a renewal without sessions has the class %q, want %q", class, database.ClassNotFound)
	}
}

// Sessions remain if no member can be asked to end them.
func TestNoMember(t *testing.T) {
	p, _ := filled(t, 2)
	if c, err := p.End(t.Context(), nil, time.Second); c.Left != 2 || err == nil {
		t.Errorf("%+v, %v; want 2 left and the reason", c, err)
	}
	m := &members{open: map[int64]bool{}, silent: true}
	if err := New(time.Minute).Fill(t.Context(), 5, []database.Leaser{m}, time.Second); err == nil {
		t.Error("sessions that were not granted are no error")
	}
}

// The queue keeps its order when it grows and wraps around.
func TestQueue(t *testing.T) {
	var q queue
	next, want := int64(0), int64(0)
	for range 500 {
		for range 3 {
			q.add(database.NumberedSession(next))
			next++
		}
		for range 2 {
			if id, ok := q.take(); !ok || id.Number() != want {
				t.Fatalf("took %d (%v), want %d", id.Number(), ok, want)
			}
			want++
		}
	}
	if n := q.clear(); n != next-want || q.len() != 0 {
		t.Errorf("%d were left, want %d", n, next-want)
	}
	if _, ok := q.take(); ok {
		t.Error("a queue without sessions gave one")
	}
}
