package databasetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

const (
	// countedKeys is how many requests of each kind a client makes.
	countedKeys = 20
	// idleFor is the time for which the server count must stay unchanged before the first load, so
	// that later requests belong to the load. Before the other loads, which follow at once, it is
	// stillFor.
	idleFor  = time.Second
	stillFor = 100 * time.Millisecond
	// idleWithin bounds the wait for an unchanged count.
	idleWithin = Patience
)

// countedLoad is a load whose requests the servers count.
type countedLoad struct {
	name string
	cost int64 // the count for one request that ended ok
	do   func(ctx context.Context, c database.Client, i int, new, old []byte) error
}

// countedLoads returns the loads for a client's operations. Old keys exist, and their values are
// their own names.
func countedLoads(f *fixture, c database.Client) []countedLoad {
	value := bytesOf(100)
	loads := []countedLoad{
		{"write", 1, func(ctx context.Context, c database.Client, _ int, new, _ []byte) error {
			return putHinted(ctx, c, new, value, true)
		}},
		{"update", 1, func(ctx context.Context, c database.Client, _ int, _, old []byte) error {
			return putHinted(ctx, c, old, old, false)
		}},
		{"write and update", 1, func(ctx context.Context, c database.Client, i int, new, old []byte) error {
			if i%2 == 0 {
				return putHinted(ctx, c, new, value, true)
			}
			return putHinted(ctx, c, old, old, false)
		}},
		{"read", 0, func(ctx context.Context, c database.Client, _ int, _, old []byte) error {
			_, err := c.Get(ctx, old, f.info().Reads[0])
			return err
		}},
	}
	if _, ok := c.(database.Swapper); ok {
		loads = append(loads, countedLoad{"swap", 1, func(ctx context.Context, c database.Client, _ int, _, old []byte) error {
			return c.(database.Swapper).Swap(ctx, old, old, old)
		}})
	}
	if _, ok := c.(database.Transactor); ok {
		loads = append(loads, transactions(f))
	}
	if _, ok := c.(database.Deleter); ok {
		loads = append(loads, countedLoad{"delete", 1, func(ctx context.Context, c database.Client, _ int, _, old []byte) error {
			return c.(database.Deleter).Delete(ctx, old)
		}})
	}
	return loads
}

// transactions returns a load of a create, a read of its version, and a txn that expects that
// version. It adds a transaction of three keys if the database has those.
func transactions(f *fixture) countedLoad {
	_, several := f.driver.(database.TxnLimiter)
	load := countedLoad{name: "transactions", cost: 2}
	if several {
		load.cost++
	}
	load.do = func(ctx context.Context, c database.Client, _ int, _, old []byte) error {
		txn := c.(database.Transactor)
		named := func(name string) database.GuardedPut {
			return database.GuardedPut{Key: append([]byte(name), old...), Value: old}
		}
		created := named("created-")
		if err := txn.Txn(ctx, []database.GuardedPut{created}); err != nil {
			return err
		}
		var err error
		if created.Version, err = txn.Version(ctx, created.Key); err != nil {
			return err
		}
		if err := txn.Txn(ctx, []database.GuardedPut{created}); err != nil || !several {
			return err
		}
		return txn.Txn(ctx, []database.GuardedPut{named("one-"), named("two-"), named("three-")})
	}
	return load
}

// putHinted writes as a load does: with the hint whether the key is new, if the client
// accepts hints.
func putHinted(ctx context.Context, c database.Client, key, value []byte, isNew bool) error {
	hinted, ok := c.(database.HintedPutter)
	switch {
	case !ok:
		return c.Put(ctx, key, value)
	case isNew:
		return hinted.PutNew(ctx, key, value)
	}
	return hinted.PutExisting(ctx, key, value)
}

// serverCountCase: the servers count one write for each request that ended ok, and at most
// one for each request with an unknown outcome. So a client neither repeats a request nor
// needs two for one. Sessions are opened before the count and closed after it.
func serverCountCase(t *testing.T, f *fixture) {
	var clients []database.Client
	for member := range f.members {
		clients = append(clients, f.dial(t, f.To(member)))
	}
	f.settledCount(t, idleFor)
	for _, load := range countedLoads(f, clients[0]) {
		f.part(t, load.name, func(t *testing.T) {
			var counted int64
			var errs []error
			Until(t, Patience, 0, func() error {
				requests, leads := newCountedRequests(t, f, clients), f.leads(t)
				before := f.settledCount(t, stillFor)
				errs = requests.run(t, load)
				counted = f.suite.ServerCount(t, f.Cluster) - before
				if slices.ContainsFunc(errs, leaderChanges) || f.leads(t) != leads { // servers also log that
					t.Log("the leader changed during the load, which is repeated")
					return errors.New("the leader changes again and again")
				}
				return nil
			})
			ok, unknown := outcomes(t, load, errs)
			if counted < ok*load.cost || counted > (ok+unknown)*load.cost {
				t.Errorf("the servers counted %d writes for %d requests that ended ok and %d with an unknown outcome, want from %d to %d",
					counted, ok, unknown, ok*load.cost, (ok+unknown)*load.cost)
			}
		})
	}
}

// settledCount returns the server count once it has not changed for a while.
func (f *fixture) settledCount(t *testing.T, idle time.Duration) int64 {
	t.Helper()
	return settled(t, idleWithin, idle, "idle servers still count writes, so a load can't be distinguished from them",
		func() int64 { return f.suite.ServerCount(t, f.Cluster) }, func(a, b int64) bool { return a == b })
}

// countedRequests holds new keys, and old keys that exist, for each client.
type countedRequests struct {
	clients  []database.Client
	new, old [][][]byte
}

func newCountedRequests(t *testing.T, f *fixture, clients []database.Client) *countedRequests {
	t.Helper()
	r := &countedRequests{clients: clients, new: make([][][]byte, len(clients)), old: make([][][]byte, len(clients))}
	for n, c := range clients {
		for range countedKeys {
			old := f.key()
			put(t, c, old, old)
			r.old[n], r.new[n] = append(r.old[n], old), append(r.new[n], f.key())
		}
	}
	return r
}

// run makes all client requests in parallel and returns their errors.
func (r *countedRequests) run(t *testing.T, load countedLoad) []error {
	t.Helper()
	var wg sync.WaitGroup
	errs := make([][]error, len(r.clients))
	for n, c := range r.clients {
		wg.Go(func() {
			for i := range countedKeys {
				ctx, cancel := context.WithTimeout(t.Context(), opWithin)
				errs[n] = append(errs[n], load.do(ctx, c, i, r.new[n][i], r.old[n][i]))
				cancel()
			}
		})
	}
	wg.Wait()
	return slices.Concat(errs...)
}

// outcomes counts the requests that ended ok and those with an unknown outcome. No other outcome is
// possible.
func outcomes(t *testing.T, load countedLoad, errs []error) (ok, unknown int64) {
	t.Helper()
	for _, err := range errs {
		switch outcome, class := database.Classify(err); outcome {
		case workload.OK:
			ok++
		case workload.Unknown:
			unknown++
		default:
			t.Errorf("%s failed, which it must not on an idle cluster: %s: %v", load.name, class, err)
		}
	}
	return ok, unknown
}
