package shared

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// keyed is a driver whose claims are keys, held in memory by one server with several members.
type keyed struct {
	database.Driver // nil: nothing else is called
	text            []byte
	version         int64
	refuse          error // for the next transaction
	down            []int // members
	open, dialed    int
	puts            int
}

func (k *keyed) CountKeys(context.Context, database.Target) (int64, error) {
	return min(k.version, 1), nil
}

func (k *keyed) Dial(ctx context.Context, t database.Target) (database.Client, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		return nil, errors.New("a connection to one member has no deadline of its own")
	}
	if slices.Contains(k.down, t.Prefer) {
		return nil, database.NotApplied(database.ClassUnavailable, errors.New("down"))
	}
	k.open++
	k.dialed++
	return &keyedClient{on: k, member: t.Prefer}, nil
}

type keyedClient struct {
	database.Client // nil: nothing else is called
	on              *keyed
	member          int
}

func (c *keyedClient) lost() error {
	if slices.Contains(c.on.down, c.member) {
		return database.MaybeApplied(database.ClassConnection, errors.New("the member was lost"))
	}
	return nil
}

func (c *keyedClient) Get(context.Context, []byte, workload.ReadMode) ([]byte, error) {
	if err := c.lost(); err != nil {
		return nil, err
	}
	if c.on.version == database.NoVersion {
		return nil, database.ErrNotFound
	}
	return c.on.text, nil
}

func (c *keyedClient) Version(context.Context, []byte) (int64, error) { return c.on.version, c.lost() }

func (c *keyedClient) Txn(_ context.Context, puts []database.GuardedPut) error {
	refuse := c.on.refuse
	switch {
	case refuse != nil:
		return refuse
	case puts[0].Version != c.on.version:
		return database.NotApplied(database.ClassConflict, errors.New("another version"))
	}
	c.on.text = puts[0].Value
	c.on.version++
	return nil
}

func (c *keyedClient) Put(_ context.Context, _, text []byte) error {
	c.on.puts++
	c.on.text = text
	c.on.version++
	return nil
}

func (c *keyedClient) Delete(context.Context, []byte) error {
	c.on.text, c.on.version = nil, database.NoVersion
	return nil
}

func (c *keyedClient) Close() error {
	c.on.open--
	return nil
}

// After a failed transaction, the claim is put without a condition only if the server has no
// transactions: another run may have claimed the prefix meanwhile.
func TestClaimPutOnlyWithoutTransactions(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		puts int
	}{
		"a leader change":       {database.MaybeApplied(database.ClassLeaderChange, errors.New("leader changed")), 0},
		"certainly not applied": {database.NotApplied(database.ClassLeaderChange, errors.New("not the leader")), 0},
		"throttled":             {database.NotApplied(database.ClassThrottled, errors.New("too many requests")), 0},
		"another reason":        {database.NotApplied(database.ClassOther, errors.New("something")), 0},
		"a lost connection":     {database.MaybeApplied(database.ClassConnection, errors.New("EOF")), 0},
		"another version":       {database.NotApplied(database.ClassConflict, errors.New("stale")), 0},
		"no transactions":       {database.NotApplied(database.ClassOther, fmt.Errorf("%w: 404", database.ErrNoTransactions)), 1},
	} {
		k := &keyed{refuse: tt.err}
		h, err := Take(t.Context(), k, database.Target{Prefix: "p", Endpoints: []string{"a"}}, Claimant{Run: "1", Owner: "ann"}, t.Logf)
		if k.puts != tt.puts || (err == nil) != (tt.puts > 0) {
			t.Errorf("%s: %d puts without a condition, want %d: %v", name, k.puts, tt.puts, err)
		}
		if err == nil {
			if err := h.Remove(t.Context()); err != nil {
				t.Errorf("%s: remove the claim: %v", name, err)
			}
		}
		if k.open != 0 {
			t.Errorf("%s: %d connections are left", name, k.open)
		}
	}
}

// Renewals use one connection, and another one after its member was lost. No connection remains
// open.
func TestClaimKeepsConnection(t *testing.T) {
	k := &keyed{}
	target := database.Target{Prefix: "p", Endpoints: []string{"a", "b", "c"}}
	h, err := Take(t.Context(), k, target, Claimant{Run: "1", Owner: "ann"}, t.Logf)
	if err != nil {
		t.Fatalf("take the prefix: %v", err)
	}
	renew := func() {
		t.Helper()
		for i := range int64(10) {
			if err := h.Cover(t.Context(), workload.KeySpan{Size: 8, First: i, End: i + 1}); err != nil {
				t.Fatalf("renew the claim: %v", err)
			}
		}
	}
	renew()
	if k.dialed != 1 {
		t.Errorf("11 calls opened %d connections, want 1", k.dialed)
	}
	k.down = []int{0, 1}
	renew()
	if k.dialed != 2 || k.open != 1 {
		t.Errorf("after the loss of two members %d connections were opened in all and %d are open, want 2 and 1", k.dialed, k.open)
	}
	if err := h.End(t.Context()); err != nil {
		t.Errorf("end the claim: %v", err)
	}
	if err := h.Remove(t.Context()); err != nil {
		t.Errorf("remove the claim: %v", err)
	}
	if k.open != 0 || k.version != database.NoVersion {
		t.Errorf("%d connections are left, and a claim of version %d", k.open, k.version)
	}
	k.down = []int{0, 1, 2}
	if _, err := Take(t.Context(), k, target, Claimant{Run: "2", Owner: "ann"}, t.Logf); err == nil || strings.Count(err.Error(), "dial member") != 3 {
		t.Errorf("without members: want an error of each, got %v", err)
	}
}
