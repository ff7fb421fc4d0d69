package control

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/coreos/dbtester/pkg/database"
)

const (
	// dialers is how many connections are opened at once: enough to be quick, few
	// enough not to overrun a server's accept queue.
	dialers = 32
	// dialTimeout bounds the opening of one connection.
	dialTimeout = 10 * time.Second
)

// dial opens n connections, to the members in turn that the load targets and that
// are not lost, and returns both. A load survives a member that dies during a
// step, so it survives one that dies between two: that member is lost, and the
// connections go to the others. What no member takes ends the load.
func (c *conductor) dial(ctx context.Context, n int) (conns []database.Client, members []int, err error) {
	for {
		if members, err = c.targets(); err != nil {
			return nil, nil, err
		}
		conns, err = c.dialMembers(ctx, n, members)
		var refused *dialError
		if err == nil || ctx.Err() != nil || !errors.As(err, &refused) || !c.gone(ctx, refused.member) || len(members) == 1 {
			return conns, members, err
		}
	}
}

// dialError is that a member takes no connection.
type dialError struct {
	member int
	error
}

func (e *dialError) Unwrap() error { return e.error }

// dialMembers opens n connections to some members in turn, or none.
func (c *conductor) dialMembers(ctx context.Context, n int, members []int) ([]database.Client, error) {
	conns := make([]database.Client, n)
	group, ctx := errgroup.WithContext(ctx) // the first error ends the others
	group.SetLimit(dialers)
	for i := range conns {
		group.Go(func() error {
			member := members[i%len(members)]
			conn, err := c.dialMember(ctx, member)
			if err != nil {
				return &dialError{member, err}
			}
			conns[i] = conn
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, errors.Join(fmt.Errorf("open %d connections: %w", n, err), closeAll(conns))
	}
	return conns, nil
}

func (c *conductor) dialMember(ctx context.Context, member int) (database.Client, error) {
	ctx, cancel := within(ctx, dialTimeout)
	defer cancel()
	t := c.target
	t.Prefer = member
	return c.driver.Dial(ctx, t)
}

// gone tells whether a member that refused a connection is lost, and remembers it.
// One that takes a single connection now is there: then this machine has run out
// of something, or the member takes no more. Nor is one lost that wants other
// credentials.
func (c *conductor) gone(ctx context.Context, member int) bool {
	conn, err := c.dialMember(ctx, member)
	if err == nil {
		_ = conn.Close() // it only was a question
		return false
	}
	if _, class := database.Classify(err); class == database.ClassDenied || ctx.Err() != nil {
		return false
	}
	// Its agent may know how it ended, a moment before the next heartbeat tells.
	for _, a := range c.agents {
		if a.index == member {
			_ = c.beatOnce(ctx, a) // an agent that is gone too says nothing
		}
	}
	c.lose(member, fmt.Sprintf("it takes no connection: %v", err))
	return true
}

// dialer opens single connections, to some members in turn.
func (c *conductor) dialer(members []int) func(context.Context) (database.Client, error) {
	return func(ctx context.Context) (database.Client, error) {
		t := c.target
		t.Prefer = members[int(c.dialed.Add(1))%len(members)]
		return c.driver.Dial(ctx, t)
	}
}

// targets are the indexes of the members that connections go to.
func (c *conductor) targets() ([]int, error) {
	var living []int
	members := c.targeted()
	for _, i := range members {
		if !c.beats.isLost(i) {
			living = append(living, i)
		}
	}
	switch {
	case len(members) == 0:
		return nil, fmt.Errorf("no member is %q (leader known: %v)", c.db.Load.Target, c.run.Leader >= 0)
	case len(living) == 0:
		return nil, fmt.Errorf("open connections: every member that the load goes to (%q) is lost", c.db.Load.Target)
	}
	return living, nil
}

// targeted are the members that the load targets, lost or not.
func (c *conductor) targeted() []int {
	var members []int
	for i, m := range c.run.Members {
		switch c.db.Load.Target {
		case "all", "":
			members = append(members, i)
		case "leader":
			if i == c.run.Leader {
				members = append(members, i)
			}
		case "follower":
			if c.run.Leader >= 0 && i != c.run.Leader {
				members = append(members, i)
			}
		case m.Addr, m.Endpoint:
			members = append(members, i)
		}
	}
	return members
}

func closeAll(conns []database.Client) error {
	errs := make([]error, len(conns))
	var wg sync.WaitGroup
	for i, conn := range conns {
		if conn != nil {
			wg.Go(func() { errs[i] = conn.Close() })
		}
	}
	wg.Wait()
	if err := firstOf(errs); err != nil {
		return fmt.Errorf("close connections: %w", err)
	}
	return nil
}

// firstOf is the first error with the number of the others: a thousand clients
// of a dead server would tell the same a thousand times.
func firstOf(errs []error) error {
	var first error
	n := 0
	for _, err := range errs {
		if err != nil {
			if first == nil {
				first = err
			}
			n++
		}
	}
	if n > 1 {
		return fmt.Errorf("%w (and %d more)", first, n-1)
	}
	return first
}
