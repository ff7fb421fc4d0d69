package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

const (
	// dialers is how many connections are opened at once: enough to be quick, few
	// enough not to overrun a server's accept queue.
	dialers = 32
	// dialTimeout bounds the opening of one connection.
	dialTimeout = 10 * time.Second
)

// dialer opens connections to the members of a run.
type dialer struct {
	run   *run
	fleet *fleet.Fleet
	// singles counts the single connections, which go to the members in turn.
	singles atomic.Int64
}

// dial opens n connections, in turn to the members that the load targets and that
// are not lost, and returns both. A member that takes no connection is lost, and the
// connections go to the others: a load survives a member that dies between two
// steps, as it survives one that dies during a step. Every other error ends the
// load.
func (d *dialer) dial(ctx context.Context, n int) (conns []database.Client, members []int, err error) {
	for {
		if members, err = d.targets(); err != nil {
			return nil, nil, err
		}
		conns, err = d.dialMembers(ctx, n, members)
		var refused *dialError
		if err == nil || ctx.Err() != nil || !errors.As(err, &refused) || !d.gone(ctx, refused.member) || len(members) == 1 {
			return conns, members, err
		}
	}
}

// dialError is the error of a member that accepts no connection.
type dialError struct {
	member int
	error
}

func (e *dialError) Unwrap() error { return e.error }

// dialMembers opens n connections to some members in turn. After an error none is
// open.
func (d *dialer) dialMembers(ctx context.Context, n int, members []int) ([]database.Client, error) {
	conns := make([]database.Client, n)
	group, ctx := errgroup.WithContext(ctx) // the first error ends the others
	group.SetLimit(dialers)
	for i := range conns {
		group.Go(func() error {
			member := members[i%len(members)]
			conn, err := d.dialMember(ctx, member)
			if err != nil {
				return &dialError{member, err}
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
	ctx, cancel := fleet.Within(ctx, dialTimeout)
	defer cancel()
	t := d.run.target
	t.Prefer = member
	return d.run.driver.Dial(ctx, t)
}

// gone reports whether a member that refused a connection is lost, and notes it. A
// member is not lost if it accepts a single connection now: then this machine has
// run out of something, or the member accepts no more. Nor is one that wants other
// credentials.
func (d *dialer) gone(ctx context.Context, member int) bool {
	conn, err := d.dialMember(ctx, member)
	if err == nil {
		_ = conn.Close() // it was only to find out
		return false
	}
	if _, class := database.Classify(err); class == database.ClassDenied || ctx.Err() != nil {
		return false
	}
	// Its agent may know how it ended before the next heartbeat is due.
	d.fleet.Beat(ctx, member)
	d.run.losses.Add(member, fmt.Sprintf("it takes no connection: %v", err))
	return true
}

// single returns a function that opens single connections, to some members in turn.
// With fail-over, a member that accepts none is followed by the others: nothing was
// sent yet.
func (d *dialer) single(members []int) func(context.Context) (database.Client, error) {
	tries := 1
	if d.run.db.Load.Failover == workload.FailoverNext {
		tries = len(members)
	}
	return func(ctx context.Context) (client database.Client, err error) {
		first := int(d.singles.Add(1))
		t := d.run.target
		for n := range tries {
			t.Prefer = members[(first+n)%len(members)]
			if client, err = d.run.driver.Dial(ctx, t); err == nil || ctx.Err() != nil {
				break
			}
		}
		if _, named := client.(interface{ Member() int }); err == nil && !named {
			client = single{client, t.Prefer}
		}
		return client, err
	}
}

// single is a connection for one request, to a member by index.
type single struct {
	database.Client
	member int
}

func (s single) Member() int { return s.member }

// reconnect returns how a step's connections to some members are replaced. The first
// loss and the first replacement of a step are events; the step counts all of them.
func (d *dialer) reconnect(members []int) *load.Reconnect {
	var lost, opened sync.Once
	return &load.Reconnect{
		Members: members,
		Dial:    d.dialMember,
		Lost: func(member int, err error) {
			lost.Do(func() { d.run.journal.event(results.EventConnectionLost, member, err.Error()) })
		},
		Opened: func(member int) {
			opened.Do(func() { d.run.journal.event(results.EventReconnected, member, "") })
		},
		Gone: func() bool {
			return !slices.ContainsFunc(members, func(i int) bool { return !d.run.losses.Has(i) })
		},
	}
}

// targets returns the indexes of the members that connections go to.
func (d *dialer) targets() ([]int, error) {
	var living []int
	members := targeted(d.run.record, d.run.db.Load.Target)
	for _, i := range members {
		if !d.run.losses.Has(i) {
			living = append(living, i)
		}
	}
	switch {
	case len(members) == 0:
		return nil, fmt.Errorf("no member is %q (leader known: %v)", d.run.db.Load.Target, d.run.record.Leader >= 0)
	case len(living) == 0:
		return nil, fmt.Errorf("open connections: every member that the load goes to (%q) is lost", d.run.db.Load.Target)
	}
	return living, nil
}

// targeted returns the members of a run that a load targets, lost or not.
func targeted(run *results.DatabaseRun, target string) []int {
	var members []int
	for i, m := range run.Members {
		switch target {
		case "all", "":
			members = append(members, i)
		case "leader":
			if i == run.Leader {
				members = append(members, i)
			}
		case "follower":
			if run.Leader >= 0 && i != run.Leader {
				members = append(members, i)
			}
		case m.Addr, m.Endpoint:
			members = append(members, i)
		}
	}
	return members
}
