package control

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/control/fleet/remote"
	"github.com/coreos/dbtester/control/issue"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/results"
)

// manyKeys is the least key count from which keys are written many at a time, if the database can
// and no bound is on their latencies.
const manyKeys = 10_000

// preload writes the keys needed by the load or requested in the file.
func (l *loader) preload(ctx context.Context) error {
	spec := l.spec()
	n := spec.Existing()
	if n == 0 && spec.Sessions == 0 {
		return nil
	}
	most := l.run.db.Load.Stretches()[0]
	for _, s := range l.run.db.Load.Stretches() {
		if s.Clients > most.Clients {
			most = s
		}
	}
	connections := most.Connections
	if spec.Sessions == 0 {
		connections = min(connections, int(min(n, 1<<20)))
	}
	before, err := l.countPreload(ctx)
	if err != nil {
		return err
	}
	if spec.Sessions > 0 {
		l.run.journal.step("grant %d sessions before the load", spec.Sessions)
	}
	if n > 0 {
		l.run.journal.step("write %d keys before the load", n)
	}
	start, perRequest, last := time.Now(), 1, most.Clients
	if bulker, ok := l.run.driver.(database.Bulker); ok && n >= manyKeys && len(l.bounders) == 0 {
		perRequest = bulker.BulkSize(spec.KeySize, spec.LargestValue())
		connections = min(connections, connect.AtOnce)
		last = connections * perRequest
	}
	members, err := l.dialer.targets()
	if err != nil {
		return err
	}
	tenths := l.run.sayTenths(n)
	err = l.issue.Preload(ctx, issue.Preload{Preload: issuer.Preload{Clients: most.Clients, Connections: connections, PerRequest: perRequest}, Members: members}, func(p load.Progress) {
		l.see(p)
		tenths(p.Done)
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	p := &results.Preload{Keys: n, PerRequest: perRequest, Took: time.Since(start), Counted: -1}
	l.run.record.Preload = p
	l.run.journal.event("preloaded", -1, fmt.Sprintf("%d keys in %v, up to %d in a request", n, p.Took.Round(time.Millisecond), perRequest))
	if before >= 0 {
		if p.Counted, err = l.countPreload(ctx); err != nil {
			return err
		}
		if p.Counted < n || p.Counted > before+n {
			return fmt.Errorf("write %d keys before the load: the database counted %d keys before and %d after", n, before, p.Counted)
		}
	}
	spec.Keys = n // the last keys are written last
	return awaitKeys(ctx, l.dialer, spec, last)
}

// sayTenths returns a function that reports each tenth when there are many keys. Any goroutine may
// call it.
func (r *run) sayTenths(total int64) func(keys int64) {
	if total < manyKeys {
		return func(int64) {}
	}
	var tenths atomic.Int64
	return func(n int64) {
		if t := n * 10 / total; t > tenths.Load() && tenths.Swap(t) < t {
			r.journal.step("%d of %d keys are written", n, total)
		}
	}
}

// countPreload counts the keys if the experiment asks for data before the load; else it returns -1.
func (l *loader) countPreload(ctx context.Context) (int64, error) {
	counter, ok := l.run.driver.(database.Counter)
	if !ok || l.run.db.Load.Preload == 0 {
		return -1, nil
	}
	ctx, cancel := remote.Within(ctx, countWithin(&l.run.db.Load))
	defer cancel()
	n, err := counter.CountKeys(ctx, l.run.target)
	if err != nil {
		return 0, fmt.Errorf("count the keys that are written before the load: %w", err)
	}
	return n, nil
}
