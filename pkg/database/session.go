package database

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/workload"
)

// SessionFacts are what is known of a database's sessions before anything starts. A session
// ends, and its keys with it, if its holder does not renew it within a TTL.
type SessionFacts struct {
	// What is the database's name for a session, such as "lease".
	What string
	// Least is the shortest TTL that members grant, Most the longest, 0 without a bound, and
	// Step the unit of TTLs.
	Least, Most, Step time.Duration
	// Rule is when members end a session that is not renewed.
	Rule string
	// Ends returns how long after the last renewal members end a session with a TTL, by the
	// rule: at least and at most, if they end n sessions at once.
	Ends func(ttl time.Duration, n int) (earliest, latest time.Duration)
	// Conns means that each session has a connection of its own.
	Conns bool
	// Renewal is the request that renews a session, and Watch how the end of keys is seen.
	Renewal, Watch string
	// Requests are what the methods of a [Leaser] send, and NoRequests why clients are none.
	// One of the two is empty.
	Requests, NoRequests string
}

// Granted returns the TTL that members grant if one is asked for.
func (f SessionFacts) Granted(ttl time.Duration) time.Duration {
	if ttl = max(ttl, f.Least); f.Most > 0 {
		ttl = min(ttl, f.Most)
	}
	return (ttl + f.Step - 1) / f.Step * f.Step
}

// Bounds describes the TTLs that members grant.
func (f SessionFacts) Bounds() string {
	if f.Most > 0 {
		return fmt.Sprintf("%v to %v, in steps of %v", f.Least, f.Most, f.Step)
	}
	return fmt.Sprintf("%v and more, in steps of %v", f.Least, f.Step)
}

// SessionDialer is a driver of a database with sessions, whose [Info.Sessions] has the facts.
type SessionDialer interface {
	// DialSessions opens what grants sessions, for one caller that closes it.
	DialSessions(ctx context.Context, t Target) (Sessions, error)
}

// SessionRuler is a [SessionDialer] whose options change the facts.
type SessionRuler interface{ SessionFacts() SessionFacts }

// SessionFactsOf returns the facts of a driver's options, nil without sessions.
func SessionFactsOf(i Info, driver any) *SessionFacts {
	if r, ok := driver.(SessionRuler); ok && i.Sessions != nil {
		facts := r.SessionFacts()
		return &facts
	}
	return i.Sessions
}

// ErrNoSession is in the error of a request for a session that members do not have: it has
// ended.
var ErrNoSession = errors.New("the session has ended")

// Sessions grants sessions. Its methods are safe for concurrent use.
type Sessions interface {
	// Grant begins a session with a TTL, which members may change: see [Session.TTL].
	Grant(ctx context.Context, ttl time.Duration) (Session, error)
	// Watch reports the ends of the keys of sessions below the target's prefix until ctx ends,
	// which is no error. It calls ready once, and misses no later end of a key that was there
	// then. Both functions are called by one goroutine and must not block.
	Watch(ctx context.Context, ready func(), gone func(Gone)) error
	// Close closes the connections. It ends no session.
	Close() error
}

// Session is one session, for one caller at a time.
type Session interface {
	// TTL is what members granted.
	TTL() time.Duration
	// Attach creates a key that ends with the session. It lies below the target's prefix,
	// apart from the keys of clients.
	Attach(ctx context.Context, key, value []byte) error
	// Keep renews the session.
	Keep(ctx context.Context) error
	// Abandon makes the holder look dead: nothing says goodbye to the members.
	Abandon()
	// Release ends the session and its keys, also after Abandon. One that has ended is no
	// error.
	Release(ctx context.Context) error
}

// Gone is the end of a key, by its name in [Session.Attach].
type Gone struct {
	Key []byte
	// At is when the end was known. Since is when the key was surely still there, zero if a
	// member reports the end by itself.
	Since, At time.Time
}

// SessionID names a session of a [Leaser]. Bytes that a database does not use are 0.
type SessionID [16]byte

// NumberedSession is the id of a session that a database numbers.
func NumberedSession(number int64) (id SessionID) {
	binary.BigEndian.PutUint64(id[:], uint64(number))
	return id
}

// Number is that of a [NumberedSession].
func (id SessionID) Number() int64 { return int64(binary.BigEndian.Uint64(id[:])) }

// Leaser is optional on a [Client]: it begins, renews and ends sessions of members, each by one
// request. They have no keys, and no prefix: all clients of a cluster can name them.
type Leaser interface {
	// Grant begins a session with a TTL, which members may change.
	Grant(ctx context.Context, ttl time.Duration) (SessionID, error)
	// KeepAlive renews a session. The error of one that has ended wraps [ErrNoSession].
	KeepAlive(ctx context.Context, id SessionID) error
	// Revoke ends a session. The error of one that has ended wraps ErrNoSession, unless the
	// database does not tell.
	Revoke(ctx context.Context, id SessionID) error
}

// WhyNot returns why clients of a database lack an operation, "" if that is not known.
func (i Info) WhyNot(op workload.Op) string {
	switch {
	case op.Locks():
		return i.NoLocks
	case !op.OfSessions():
		return ""
	case i.Sessions == nil:
		return i.NoSessions
	}
	return i.Sessions.NoRequests
}

// SessionKeys is the name below which keys of sessions lie, behind the target's prefix.
const SessionKeys = "sessions/"

// WatchList is [Sessions.Watch] of a database that is asked again and again for the names of
// all keys. After each answer it rests as long as the answer took, and at least least.
func WatchList(ctx context.Context, least time.Duration, list func(context.Context) ([]string, error), ready func(), gone func(Gone)) error {
	listed := NewListed(ready, gone)
	for {
		sent := time.Now()
		names, err := list(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		at := time.Now()
		listed.Next(names, sent, at)
		rest := time.NewTimer(max(least, at.Sub(sent)))
		select {
		case <-rest.C:
		case <-ctx.Done():
			rest.Stop()
			return nil
		}
	}
}

// Listed compares each list of the names of all keys with the one before. It is not safe for
// concurrent use.
type Listed struct {
	ready func() // nil after the first list
	gone  func(Gone)
	names map[string]struct{}
	sent  time.Time // when the last list was asked for
}

// NewListed returns a comparison with no list yet, for the two functions of [Sessions.Watch].
func NewListed(ready func(), gone func(Gone)) *Listed { return &Listed{ready: ready, gone: gone} }

// Next reports the keys that a list lacks, and after the first list that the watch is ready. The
// answer to a request that was sent came at a time.
func (l *Listed) Next(names []string, sent, at time.Time) {
	now := make(map[string]struct{}, len(names))
	for _, name := range names {
		now[name] = struct{}{}
	}
	for name := range l.names {
		if _, still := now[name]; !still {
			l.gone(Gone{Key: []byte(name), Since: l.sent, At: at})
		}
	}
	if l.names, l.sent = now, sent; l.ready != nil {
		l.ready()
		l.ready = nil
	}
}

// Unchanged notes that the keys of the last list were all there until a time.
func (l *Listed) Unchanged(until time.Time) { l.sent = until }
