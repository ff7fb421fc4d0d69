package consul

import (
	"context"
	"errors"
	"fmt"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// client makes a client for a load without sending anything.
func (m members) client(member int) (operations, error) {
	if m.transport == database.Lean {
		return m.openLean(member)
	}
	return m.open(member)
}

// ask calls f on a connection to one member.
func (m members) ask(member int, f func(*client) error) error {
	c, err := m.open(member)
	if err != nil {
		return err
	}
	return errors.Join(f(c), c.Close())
}

// askFirst calls f on a connection to one member after another, until f succeeds or ctx ends. It
// returns the errors of all queried members.
func (m members) askFirst(ctx context.Context, f func(member int, c *client) error) error {
	var errs []error
	for member := range m.target.Endpoints {
		err := m.ask(member, func(c *client) error { return f(member, c) })
		if err == nil {
			return nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// Dial opens one connection to one member, the preferred or else the first, and
// reads one key. A dead endpoint is therefore an error here, and the first operation
// finds the connection open. The next operation reopens a broken connection, to the
// same member.
//
// Consul has no timeout for key-value requests: its "wait" is for blocking queries only. A member
// continues with a request the client gave up until it notices that the connection is closed.
//
// The password in the target credentials is the ACL token. It must allow writing key_prefix "", or
// the target prefix. To find versions and the leader, it must also allow reading agent_prefix "".
// Without credentials, and for a namespace and the like, the library reads CONSUL_ variables from
// the environment, as every Consul client does.
func (o *Options) Dial(ctx context.Context, t database.Target) (database.Client, error) {
	whole, err := o.members(t).client(max(t.Prefer, 0))
	if err != nil {
		return nil, fmt.Errorf("dial consul: %w", err)
	}
	c := within(t, whole)
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	_, err = c.Get(ctx, []byte(probeKey), workload.ReadStale)
	if err != nil && !errors.Is(err, database.ErrNotFound) && !inTrouble(err) {
		return nil, errors.Join(fmt.Errorf("dial consul: %w%s", err, hint(err)), c.Close())
	}
	return c, nil
}
