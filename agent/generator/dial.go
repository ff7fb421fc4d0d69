package generator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

const (
	// dialers is how many connections are opened at once, as control opens them.
	dialers = 32
	// dialTimeout bounds the opening of one connection, and bulkTimeout that of one that may
	// make the parents of all keys.
	dialTimeout = 10 * time.Second
	bulkTimeout = time.Minute
)

// dialer opens connections to some members.
type dialer struct {
	part    *part
	members []int
	// singles counts the single connections, which go to the members in turn.
	singles atomic.Int64
}

// newDialer returns a dialer of the members with some indexes. Together the parts spread
// their connections over them as one machine would.
func newDialer(p *part, indexes []int32) (*dialer, error) {
	if len(indexes) == 0 {
		return nil, errors.New("connections must go to some members, got none")
	}
	d := &dialer{part: p}
	for _, index := range indexes {
		i := int(index)
		if i < 0 || i >= len(p.target.Endpoints) || slices.Contains(d.members, i) {
			return nil, fmt.Errorf("members must be different and from 0 to %d, got %d", len(p.target.Endpoints)-1, i)
		}
		d.members = append(d.members, i)
	}
	return d, nil
}

// member is the one that connection n of this part goes to: by the number that the
// connection has in the whole step.
func (d *dialer) member(n int) int {
	return d.members[d.part.spec.Part.Number(int64(n))%int64(len(d.members))]
}

// refusedError is the error of a member that takes no connection.
type refusedError struct {
	member int
	error
}

func (e *refusedError) Unwrap() error { return e.error }

// dial opens n connections to the members in turn. After an error none is open; a
// [*refusedError] names the member.
func (d *dialer) dial(ctx context.Context, n int) ([]database.Client, error) {
	conns := make([]database.Client, n)
	group, ctx := errgroup.WithContext(ctx) // the first error ends the others
	group.SetLimit(dialers)
	for i := range conns {
		group.Go(func() error {
			member := d.member(i)
			conn, err := d.dialMember(ctx, member)
			if err != nil {
				return &refusedError{member, err}
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

func (d *dialer) dialMember(ctx context.Context, member int) (database.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return d.open(ctx, member)
}

// open opens a connection. A panic of the driver is its error.
func (d *dialer) open(ctx context.Context, member int) (client database.Client, err error) {
	defer recovered(&err)
	t := d.part.target
	t.Prefer = member
	return d.part.driver.Dial(ctx, t)
}

// gone reports whether a member that refused a connection is lost. It is not if it takes a
// single connection now, nor if it wants other credentials.
func (d *dialer) gone(ctx context.Context, member int) bool {
	conn, err := d.dialMember(ctx, member)
	if err == nil {
		_ = conn.Close() // it was only to find out
		return false
	}
	_, class := database.Classify(err)
	return class != database.ClassDenied && ctx.Err() == nil
}

// single opens a connection for one request. With fail-over, a member that takes none is
// followed by the others: nothing was sent yet.
func (d *dialer) single(ctx context.Context) (client database.Client, err error) {
	tries := 1
	if d.part.spec.Failover == workload.FailoverNext {
		tries = len(d.members)
	}
	first := int(d.part.spec.Part.Number(d.singles.Add(1)-1)) + 1
	member := 0
	for n := range tries {
		member = d.members[(first+n)%len(d.members)]
		if client, err = d.open(ctx, member); err == nil || ctx.Err() != nil {
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

// bulk opens n connections that write many keys in a request.
func (d *dialer) bulk(ctx context.Context, bulker database.Bulker, n int) (conns []database.Bulk, err error) {
	for i := range n {
		t := d.part.target
		t.Prefer = d.member(i)
		own, cancel := context.WithTimeout(ctx, bulkTimeout)
		conn, err := bulker.DialBulk(own, t)
		cancel()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open a connection for keys before the load: %w", err), database.CloseAll(conns))
		}
		conns = append(conns, conn)
	}
	return conns, nil
}
