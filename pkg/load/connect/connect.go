// Package connect opens the connections of a load, whichever machine issues it: to some members of
// a cluster in turn, many at once, each within a time.
package connect

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/schedule"
	"github.com/coreos/dbtester/pkg/workload"
)

const (
	// AtOnce is the number of connections opened at the same time: enough to be quick, few enough
	// not to overrun a server's accept queue.
	AtOnce = 32
	// timeout bounds opening one connection.
	timeout = 10 * time.Second
	// bulkTimeout bounds opening a connection that may create parents for all keys.
	bulkTimeout = time.Minute
)

// Dialer opens connections to some members of a cluster in turn. Its methods are safe for
// concurrent use.
type Dialer struct {
	Driver database.Driver
	Target database.Target
	// Members are the members that connections go to, as indexes in Target; at least one.
	Members []int
	// Part is the share of the load that the connections have. Together the parts spread their
	// connections over the members as one machine would.
	Part schedule.Part
	// Failover sends a single connection refused by its member to another member.
	Failover workload.Failover

	singles atomic.Int64 // calls to Single
}

// RefusedError is the error for a member that accepts no connection.
type RefusedError struct {
	Member int // its index
	Err    error
}

func (e *RefusedError) Error() string { return e.Err.Error() }

func (e *RefusedError) Unwrap() error { return e.Err }

// Open opens n connections to the members in turn. After an error no connection is open; a
// [*RefusedError] names the member.
func (d *Dialer) Open(ctx context.Context, n int) ([]database.Client, error) {
	conns := make([]database.Client, n)
	group, ctx := errgroup.WithContext(ctx) // the first error ends the others
	group.SetLimit(AtOnce)
	for i := range conns {
		group.Go(func() error {
			member := d.member(i)
			conn, err := d.Member(ctx, member)
			if err != nil {
				return &RefusedError{Member: member, Err: err}
			}
			conns[i] = conn
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, errors.Join(fmt.Errorf("open %d connections: %w", n, err), database.CloseAll(conns))
	}
	return conns, nil
}

// member returns the member for connection n of this part, by its number in the whole load.
func (d *Dialer) member(n int) int {
	return d.Members[d.Part.Number(int64(n))%int64(len(d.Members))]
}

// Member opens a connection to one member.
func (d *Dialer) Member(ctx context.Context, member int) (database.Client, error) {
	ctx, cancel := within(ctx, timeout)
	defer cancel()
	return d.dial(ctx, member)
}

// within returns a context that ends after t at the latest, with a cause that names t.
func within(ctx context.Context, t time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, t, fmt.Errorf("no answer within %v", t))
}

// dial opens a connection. A panic in the driver becomes the error.
func (d *Dialer) dial(ctx context.Context, member int) (client database.Client, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = database.Panicked(p)
		}
	}()
	t := d.Target
	t.Prefer = member
	return d.Driver.Dial(ctx, t)
}

// Gone reports whether a member that refused a connection is lost. A member is not lost if it
// now accepts a single connection: then this machine has run out of some resource, or the member
// accepts no more. A member that requires other credentials is not lost either.
func (d *Dialer) Gone(ctx context.Context, member int) bool {
	conn, err := d.Member(ctx, member)
	if err == nil {
		_ = conn.Close() // opened only for the check
		return false
	}
	_, class := database.Classify(err)
	return class != database.ClassDenied && ctx.Err() == nil
}

// Single opens a connection for one request, to the members in turn. With fail-over, it tries the
// other members after one that accepts no connection: nothing was sent yet.
func (d *Dialer) Single(ctx context.Context) (client database.Client, err error) {
	tries := 1
	if d.Failover == workload.FailoverNext {
		tries = len(d.Members)
	}
	first := int(d.Part.Number(d.singles.Add(1)-1)) + 1
	member := 0
	for n := range tries {
		member = d.Members[(first+n)%len(d.Members)]
		if client, err = d.dial(ctx, member); err == nil || ctx.Err() != nil {
			break
		}
	}
	if _, named := client.(interface{ Member() int }); err == nil && !named {
		client = single{client, member}
	}
	return client, err
}

// single is a connection for one request, to a member by index.
type single struct {
	database.Client
	member int
}

func (s single) Member() int { return s.member }

// Bulk opens n connections that write many keys in a request. After an error no connection is
// open.
func (d *Dialer) Bulk(ctx context.Context, bulker database.Bulker, n int) (conns []database.Bulk, err error) {
	for i := range n {
		t := d.Target
		t.Prefer = d.member(i)
		own, cancel := within(ctx, bulkTimeout)
		conn, err := bulker.DialBulk(own, t)
		cancel()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open a connection for keys before the load: %w", err), database.CloseAll(conns))
		}
		conns = append(conns, conn)
	}
	return conns, nil
}
