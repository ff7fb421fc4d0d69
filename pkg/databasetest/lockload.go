package databasetest

import (
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/workload"
)

// lockRequests is the number of requests in a load that take locks.
const lockRequests = 24

// lockLoad takes locks as requests in a load do: clients share two names.
func (f *fixture) lockLoad(t *testing.T, prefix string, o database.LockOptions) {
	target := f.Target()
	target.Prefix = prefix
	l := workload.Load{Keyspace: workload.Keyspace{Keys: 2}, Sizing: workload.Sizing{KeySize: prefixKeySize}, Limits: workload.Limits{Timeout: opWithin}}
	l.Operation, l.Locks = workload.OpLock, workload.Locks{Recipe: o.Recipe, TTL: o.TTL, Hold: time.Millisecond}
	dialer := &connect.Dialer{Driver: f.driver, Target: target}
	for n := range target.Endpoints {
		dialer.Members = append(dialer.Members, n)
	}
	part := issuer.New(issuer.Options{
		Database: f.suite.Database.Name, Driver: f.driver, Locks: f.info().Locks, Spec: load.Spec{Load: l, Seed: 1},
		Event: func(kind string, member int, text string) { t.Logf("member %d: %s: %s", member, kind, text) },
		Gone:  func([]int) bool { return false },
	})
	part.Begin(time.Now(), nil)
	if err := part.Connect(t.Context(), dialer, load.Step{Step: workload.Step{Requests: lockRequests, Clients: lockContenders}}, false); err != nil {
		t.Fatalf("connect: %v", err)
	}
	end, err := part.Run(t.Context(), time.Time{}, discard{})
	if err != nil || end.Totals.OK != lockRequests {
		t.Fatalf("%d requests were ok (%v), want %d", end.Totals.OK, err, lockRequests)
	}
	got := part.EndSessions(t.Context())
	if got == nil || got.Locks == nil || got.Locks.Acquired != lockRequests || got.Locks.Released != lockRequests || got.Locks.Overlaps+got.Locks.Disorder+got.Locks.Left > 0 {
		t.Errorf("what became of the locks: %+v", got)
	}
}

const (
	// lockContenders is the number of contenders for a lock, and lockTurns the number of turns that
	// each one gets.
	lockContenders = 4
	lockTurns      = 5
	// lockDelay applies to locks that have a delay.
	lockDelay = 2 * time.Second
	// leastTTL is the TTL for a holder that dies, unless members grant only longer ones.
	leastTTL = 2 * time.Second
	// giveUpAfter ends a wait for a held lock.
	giveUpAfter = 300 * time.Millisecond
)
