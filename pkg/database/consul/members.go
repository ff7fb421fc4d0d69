package consul

import (
	"context"
	"errors"

	"github.com/coreos/dbtester/pkg/database"
)

// members queries the members of a target over its own connections.
type members struct {
	target    database.Target
	transport database.Transport // of clients for a load
	maxBody   int64              // of an answer about one key, in bytes
}

// members returns the members of a target that run with the options.
func (o *Options) members(t database.Target) members {
	return members{target: t, transport: o.Transport, maxBody: maxBody(max(o.MaxValue(0), t.MaxBytes))}
}

// client makes a client for a load without sending anything.
func (m members) client(member int) (operations, error) {
	if m.transport == database.Lean {
		return m.openLean(member)
	}
	return m.open(member)
}

// ask calls f with a connection to one member.
func (m members) ask(member int, f func(*client) error) error {
	c, err := m.open(member)
	if err != nil {
		return err
	}
	return errors.Join(f(c), c.Close())
}

// askFirst calls f with a connection to one member after another, until f succeeds or
// ctx ends. It returns the errors of all queried members.
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

// list calls each with the name of every key of the target, perhaps more than once, and
// returns the number of keys.
func (m members) list(ctx context.Context, each func(name []byte)) (n int64, err error) {
	err = m.askFirst(ctx, func(_ int, c *client) (err error) {
		n, err = c.list(ctx, m.target, each)
		return err
	})
	return n, err
}
