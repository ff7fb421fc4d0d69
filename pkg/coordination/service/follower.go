package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// newFollower returns a follower that has not begun.
func newFollower(of *Service, conn int, who, what string) follower {
	return follower{of: of, conn: conn, who: who, what: what, ready: make(chan struct{}), over: make(chan struct{})}
}

// followTimeout bounds beginning a watch.
const followTimeout = 30 * time.Second

// begin connects, and returns when the follower watches as one of some tasks, until watching is
// over.
func (f *follower) begin(ctx, watching context.Context, group *tasks, changed func(database.Change)) error {
	ctx, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	on, err := f.of.Dial(ctx, f.conn)
	if err != nil {
		f.err = fmt.Errorf("dial for %s: %w", f.who, err)
		close(f.over)
		return f.err
	}
	f.on = on
	group.Go(func() {
		defer f.of.tell()
		defer close(f.over)
		err := on.Watch(watching, func() { close(f.ready) }, changed)
		if watching.Err() == nil {
			if err == nil {
				err = errors.New("the watch ended")
			}
			f.err = err
		}
	})
	select {
	case <-f.ready:
		return nil
	case <-f.over:
		return fmt.Errorf("%s: %w", f.what, f.err)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", f.what, context.Cause(ctx))
	}
}

// ended reports whether the follower has stopped watching.
func (f *follower) ended() bool {
	select {
	case <-f.over:
		return true
	default:
		return false
	}
}

// lasted reports whether the follower watched until the end.
func (f *follower) lasted() bool { return f.err == nil }

// close closes the connection, if there is one.
func (f *follower) close() {
	if f.on != nil {
		_ = f.on.Close() // nothing more is sent
	}
}
