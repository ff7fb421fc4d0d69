package issuer

import (
	"context"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/load/contenders"
	"github.com/coreos/dbtester/pkg/load/contenders/across"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// newContenders returns the contenders for a load that takes locks, to be opened by
// [Issuer.contend]; nil for other loads.
func (i *Issuer) newContenders() *contenders.Pool {
	facts := i.lockFacts()
	if facts == nil || !i.opts.Spec.Any(workload.Op.Locks) {
		return nil
	}
	p := contenders.New(i.opts.Spec.Locks, *facts)
	if part := i.opts.Spec.Part; !part.Whole() {
		p.Remember(across.Most / part.Of)
	}
	return p
}

// lockFacts returns the facts about locks in the driver, nil without locks.
func (i *Issuer) lockFacts() *database.LockFacts {
	if i.opts.Locks == nil {
		return nil
	}
	return database.LockFactsOf(database.Info{Locks: i.opts.Locks}, i.opts.Driver)
}

// contend opens a contender for each client. Contenders go to the members in turn, as connections
// do. Open contenders stay open.
func (i *Issuer) contend(ctx context.Context, d *connect.Dialer, clients int64) error {
	if i.contenders == nil {
		return nil
	}
	dialer, ok := i.opts.Driver.(database.LockDialer)
	if !ok {
		return fmt.Errorf("nobody can contend for locks of %s", i.opts.Database)
	}
	l := i.opts.Spec.Locks
	var on []database.Locks
	for n := range min(clients, int64(len(d.Members))) {
		t := d.Target
		t.Prefer = d.Members[d.Part.Number(n)%int64(len(d.Members))]
		locks, err := dialer.DialLocks(ctx, t, database.LockOptions{Recipe: l.Recipe, TTL: l.TTL, Delay: l.Delay})
		if err != nil {
			return fmt.Errorf("dial for locks: %w", err)
		}
		on = append(on, locks)
	}
	i.contenders.Over(on)
	return i.contenders.Open(ctx, int(clients), i.opts.Spec.Timeout)
}

// disband closes the contenders.
func (i *Issuer) disband() error {
	if i.contenders == nil {
		return nil
	}
	return i.contenders.Close(context.Background(), i.opts.Spec.Timeout)
}

// Held returns the locks that this part, one of several, held in the last step, in nanoseconds
// since a time read from this process's clock.
func (i *Issuer) Held() (held []across.Holding, since time.Time) {
	if i.contenders == nil || i.rec == nil {
		return nil, time.Time{}
	}
	return i.contenders.Take(), i.rec.Clock().Instant(0)
}

// locks counts the locks that requests in this part acquired, nil in other loads.
func (i *Issuer) locks() *results.LoadLocks {
	if i.contenders == nil {
		return nil
	}
	c := i.contenders.Counts()
	return &c
}
