package connect_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/load/schedule"
	"github.com/coreos/dbtester/pkg/workload"
)

// cluster dials members by their index. Those that are down refuse.
type cluster struct {
	database.Driver
	down   map[int]bool
	denied bool
	panics bool
	open   atomic.Int64
}

// conn is a connection to a member.
type conn struct {
	database.Client
	to  *cluster
	at  int
	had atomic.Bool
}

func (c *conn) Close() error {
	if !c.had.Swap(true) {
		c.to.open.Add(-1)
	}
	return nil
}

func (c *cluster) Dial(_ context.Context, t database.Target) (database.Client, error) {
	switch {
	case c.panics:
		panic("a bug of the driver")
	case c.down[t.Prefer] && c.denied:
		return nil, database.NotApplied(database.ClassDenied, errors.New("wrong password"))
	case c.down[t.Prefer]:
		return nil, errors.New("connection refused")
	}
	c.open.Add(1)
	return &conn{to: c, at: t.Prefer}, nil
}

func TestOpenGoesToMembersInTurn(t *testing.T) {
	c := &cluster{}
	for _, part := range []schedule.Part{{}, {Index: 0, Of: 2}, {Index: 1, Of: 2}} {
		d := &connect.Dialer{Driver: c, Members: []int{0, 2}, Part: part}
		conns, err := d.Open(t.Context(), 70) // more than are opened at once
		if err != nil {
			t.Fatalf("part %v: open: %v", part, err)
		}
		for n, got := range conns {
			if want := d.Members[part.Number(int64(n))%2]; got.(*conn).at != want {
				t.Errorf("part %v: connection %d goes to member %d, want %d", part, n, got.(*conn).at, want)
			}
		}
		if err := database.CloseAll(conns); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	if n := c.open.Load(); n != 0 {
		t.Errorf("%d connections are open, want none", n)
	}
}

// TestOpenNamesWhoRefuses: the error names the member, and no other connection stays open.
func TestOpenNamesWhoRefuses(t *testing.T) {
	c := &cluster{down: map[int]bool{1: true}}
	d := &connect.Dialer{Driver: c, Members: []int{0, 1, 2}}
	_, err := d.Open(t.Context(), 6)
	var refused *connect.RefusedError
	if !errors.As(err, &refused) || refused.Member != 1 {
		t.Errorf("open: %v, want a RefusedError of member 1", err)
	}
	if n := c.open.Load(); n != 0 {
		t.Errorf("%d connections are open, want none", n)
	}
}

// TestGone: a member that now accepts a connection is not lost, nor is a member that requires
// other credentials.
func TestGone(t *testing.T) {
	for name, c := range map[string]*cluster{
		"takes one": {},
		"denied":    {down: map[int]bool{0: true}, denied: true},
		"lost":      {down: map[int]bool{0: true}},
	} {
		d := &connect.Dialer{Driver: c, Members: []int{0}}
		if got, want := d.Gone(t.Context(), 0), name == "lost"; got != want {
			t.Errorf("%s: gone is %v, want %v", name, got, want)
		}
		if n := c.open.Load(); n != 0 {
			t.Errorf("%s: %d connections are open, want none", name, n)
		}
	}
}

// TestSingle: a connection for one request goes to the next member if one refuses and fail-over
// is on, and it names its member.
func TestSingle(t *testing.T) {
	c := &cluster{down: map[int]bool{1: true}}
	next := &connect.Dialer{Driver: c, Members: []int{0, 1, 2}, Failover: workload.FailoverNext}
	for _, want := range []int{2, 2, 0} { // in turn 1, 2 and 0, but 1 refuses
		got, err := next.Single(t.Context())
		if err != nil {
			t.Fatalf("single: %v", err)
		}
		if member := got.(interface{ Member() int }).Member(); member != want {
			t.Errorf("the connection goes to member %d, want %d", member, want)
		}
	}
	stay := &connect.Dialer{Driver: c, Members: []int{0, 1, 2}, Failover: workload.FailoverNone}
	if _, err := stay.Single(t.Context()); err == nil {
		t.Error("the connection to a member that refuses went elsewhere without fail-over")
	}
}

// TestPanic: a panic in a driver becomes an error of the connection.
func TestPanic(t *testing.T) {
	d := &connect.Dialer{Driver: &cluster{panics: true}, Members: []int{0}}
	if _, err := d.Open(t.Context(), 2); err == nil {
		t.Error("open: no error, want the panic")
	}
}
