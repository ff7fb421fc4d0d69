package expiry

import (
	"testing"
	"time"
)

// Each law ends a session within the times it promises, and not before.
func TestLaws(t *testing.T) {
	start := time.Unix(1000, 0)
	const ttl, n = 3 * time.Second, 500
	for _, law := range Laws() {
		t.Run(string(law), func(t *testing.T) {
			table := NewTable(law, 0, start)
			granted := start.Add(700 * time.Millisecond)
			for range n {
				id := table.Grant(ttl, granted)
				table.Attach(id, "k", granted)
			}
			earliest, latest := law.Ends(ttl, n)
			if got := len(table.Names("", granted.Add(earliest-time.Millisecond))); got != n {
				t.Errorf("%d of %d are left a moment before the earliest end, %v", got, n, earliest)
			}
			if got := len(table.Names("", granted.Add(latest))); got != 0 {
				t.Errorf("%d are left at the latest end, %v", got, latest)
			}
		})
	}
}

// A renewed session stays, a released one is gone, and a wrong law ends one in ten too early.
func TestTable(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	table := NewTable(Exact, 10, start)
	kept, released := table.Grant(time.Second, start), table.Grant(time.Second, start)
	table.Attach(kept, "a/kept", start)
	table.Attach(released, "a/released", start)
	table.Release(released)
	if !table.Keep(kept, at(900*time.Millisecond)) || table.Keep(released, at(900*time.Millisecond)) {
		t.Error("a session must be renewed unless it was released")
	}
	if names := table.Names("a/", at(1800*time.Millisecond)); len(names) != 1 || names[0] != "kept" {
		t.Errorf("the keys are %q, want that of the renewed session", names)
	}
	if table.Keep(kept, at(1900*time.Millisecond)) {
		t.Error("a session was renewed after its end")
	}
	for range 100 {
		table.Attach(table.Grant(time.Second, at(2*time.Second)), "b", at(2*time.Second))
	}
	if left := len(table.Names("", at(2700*time.Millisecond))); left != 90 {
		t.Errorf("%d of 100 sessions are left before their TTL is over, want 90", left)
	}
}
