package library

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
	"github.com/coreos/dbtester/pkg/sleep"
)

// Recipe is the package whose sessions and mutexes a [Contender] uses.
const Recipe = "go.etcd.io/etcd/client/v3/concurrency"

// Contender takes locks with a session and mutexes of the library.
type Contender struct {
	client    *Client
	session   *concurrency.Session
	prefix    string
	mutex     *concurrency.Mutex // held, or nil
	abandoned bool
}

var _ database.Contender = (*Contender)(nil)

const (
	// cleanWithin bounds the time to remove a key a failed wait may have left.
	cleanWithin = 5 * time.Second
	// tokenTries bounds the requests for a lock with a token that a member does not know, and
	// tokenRest is the time between them.
	tokenTries = 10
	tokenRest  = 100 * time.Millisecond
)

// Contend begins a session with a TTL in whole seconds. Locks have the prefix in their names, which
// do not contain "/". The contender closes the client.
func (c *Client) Contend(ctx context.Context, ttl time.Duration, prefix string) (*Contender, error) {
	granted, err := c.upstream.Grant(ctx, int64(ttl/time.Second))
	if err != nil {
		return nil, answer.Classify(err, true)
	}
	session, err := concurrency.NewSession(c.upstream, concurrency.WithLease(granted.ID), concurrency.WithTTL(int(granted.TTL)))
	if err != nil {
		return nil, answer.Classify(err, true)
	}
	return &Contender{client: c, session: session, prefix: prefix}, nil
}

// Lease returns the session lease.
func (c *Contender) Lease() int64 { return int64(c.session.Lease()) }

// Acquire locks a library mutex, once more if a member did not know the client token yet: the
// library gets a new token for requests, but not for watches.
func (c *Contender) Acquire(ctx context.Context, name []byte, _ func()) (database.Held, error) {
	var mutex *concurrency.Mutex
	var err error
	for tries := 1; ; tries++ {
		mutex = concurrency.NewMutex(c.session, c.prefix+string(name))
		if err = mutex.Lock(ctx); err == nil {
			break
		}
		c.remove(ctx, mutex)
		if tries == tokenTries || !unknownToken(err) || !sleep.For(ctx, tokenRest) {
			return database.Held{}, c.classed(ctx, err)
		}
	}
	at := time.Now()
	c.mutex = mutex
	owner := mutex.IsOwner()
	return database.Held{At: at, Fence: owner.GetCompare().GetCreateRevision(), Lost: c.session.Done()}, nil
}

// unknownToken reports whether a watch was refused for its token. The reason is a text from the
// member.
func unknownToken(err error) bool {
	return strings.Contains(err.Error(), rpctypes.ErrInvalidAuthToken.Error())
}

// remove removes the key for a lock that was not taken. The library leaves it if the request that
// made it was given up, and the session would then hold the lock.
func (c *Contender) remove(ctx context.Context, mutex *concurrency.Mutex) {
	const none = "\x00" // the key in the library for a mutex that is not locked
	if key := mutex.Key(); key != "" && key != none {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanWithin)
		defer cancel()
		_, _ = c.client.upstream.Delete(within, key) // else it ends with the session
	}
}

// classed classes an error from a request for the session.
func (c *Contender) classed(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, concurrency.ErrSessionExpired), errors.Is(rpctypes.Error(err), rpctypes.ErrLeaseNotFound):
		return database.NotApplied(database.ClassNotFound, database.ErrNoSession)
	case ctx.Err() != nil:
		err = ctx.Err()
	}
	return answer.Classify(err, true)
}

// Release unlocks the mutex. The library does not ask whether there was anything to remove: the
// lock is lost only if the session is known to be.
func (c *Contender) Release(ctx context.Context) error {
	mutex := c.mutex
	c.mutex = nil
	lost := ended(c.session.Done())
	err := mutex.Unlock(ctx)
	switch {
	case lost:
		return database.NotApplied(database.ClassNotFound, database.ErrLockLost)
	case err != nil:
		return c.classed(ctx, err)
	}
	return nil
}

func ended(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Abandon ends the renewals.
func (c *Contender) Abandon() {
	c.session.Orphan()
	c.abandoned = true
}

// Close revokes the lease, which removes the key for a held lock.
func (c *Contender) Close(ctx context.Context) error {
	var err error
	if !c.abandoned {
		c.session.Orphan()
		_, err = c.client.upstream.Revoke(ctx, c.session.Lease())
		if err = c.classed(ctx, err); errors.Is(err, database.ErrNoSession) {
			err = nil
		}
	}
	return errors.Join(err, c.client.Close())
}
