package database

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/workload"
)

// SessionFacts are the facts about a database's sessions, known before anything starts. A session
// and its keys end if its holder does not renew it within a TTL.
type SessionFacts struct {
	// What is the name in the database for a session, such as "lease".
	What string
	// Least is the shortest TTL that members grant, Most the longest (0 if unbounded), and
	// Step the unit of TTLs.
	Least, Most, Step time.Duration
	// Rule states when members end a session that is not renewed.
	Rule string
	// Ends returns the time from the last renewal until members end a session with a TTL by the
	// rule: at least and at most, if n sessions end at once.
	Ends func(ttl time.Duration, n int) (earliest, latest time.Duration)
	// Conns means that each session has its own connection.
	Conns bool
	// Renewal is the request that renews a session. Watch describes how a client learns that keys
	// ended.
	Renewal, Watch string
	// Requests are the requests of a [Leaser]'s methods. NoRequests is the reason why clients are
	// no Leasers. One or the other is empty.
	Requests, NoRequests string
	// Beside is another way in which users of the database find dead clients, or empty.
	Beside string
	// Remains means that members keep something of an ended session until it is released.
	Remains bool
	// Takes means that sessions are [Taker], and Refused is the time after a session ends in which
	// members refuse its keys to all sessions.
	Takes   bool
	Refused time.Duration
}

// Granted returns the TTL that members grant for a requested one.
func (f SessionFacts) Granted(ttl time.Duration) time.Duration {
	if ttl = max(ttl, f.Least); f.Most > 0 {
		ttl = min(ttl, f.Most)
	}
	return (ttl + f.Step - 1) / f.Step * f.Step
}

// LongestTTL returns the longest TTL with which a session ends by the rule within a time after its
// last renewal. Without one, it returns the shortest TTL and false.
func (f SessionFacts) LongestTTL(within time.Duration) (ttl time.Duration, kept bool) {
	keeps := func(ttl time.Duration) bool {
		_, latest := f.Ends(ttl, 1)
		return latest <= within
	}
	least := f.Granted(f.Least)
	most := within / f.Step
	if f.Most > 0 {
		most = min(most, f.Most/f.Step)
	}
	// The latest end grows with the TTL, and never comes before its end.
	low, high := least/f.Step, max(most, least/f.Step)
	if !keeps(least) {
		return least, false
	}
	for low < high {
		middle := (low + high + 1) / 2
		if keeps(middle * f.Step) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low * f.Step, true
}

// Bounds describes the TTLs that members grant.
func (f SessionFacts) Bounds() string {
	if f.Most > 0 {
		return fmt.Sprintf("%v to %v, in steps of %v", f.Least, f.Most, f.Step)
	}
	return fmt.Sprintf("%v and more, in steps of %v", f.Least, f.Step)
}

// SessionDialer is a driver for a database that has sessions; [Info.Sessions] has the facts.
type SessionDialer interface {
	// DialSessions returns a [Sessions], which the caller closes.
	DialSessions(ctx context.Context, t Target) (Sessions, error)
}

// SessionRuler is a [SessionDialer] whose options change the facts.
type SessionRuler interface{ SessionFacts() SessionFacts }

// SessionFactsOf returns the facts for a driver's options, nil without sessions.
func SessionFactsOf(i Info, driver any) *SessionFacts {
	if r, ok := driver.(SessionRuler); ok && i.Sessions != nil {
		facts := r.SessionFacts()
		return &facts
	}
	return i.Sessions
}

// Registrar is a driver for a database that also has a service registry, which has its own rules
// for instances that die.
type Registrar interface {
	// Registry returns the facts about registrations, which are like those about sessions.
	Registry() SessionFacts
	// DialRegistry returns a [Sessions] that grants registrations; the caller closes it. The
	// instance a registration attaches is its key. One that has ended may begin again when it is
	// renewed.
	DialRegistry(ctx context.Context, t Target) (Sessions, error)
	// AwaitRegistry returns once registrations at every member reach all others, which may take a
	// while after the members start.
	AwaitRegistry(ctx context.Context, t Target) error
}

// ErrNoSession is wrapped by the error from a request for an ended session.
var ErrNoSession = errors.New("the session has ended")

// Sessions grants sessions. Its methods are safe for concurrent use.
type Sessions interface {
	// Grant begins a session with a TTL, which members may change: see [Session.TTL].
	Grant(ctx context.Context, ttl time.Duration) (Session, error)
	// Watch reports new session keys below the target prefix, and their ends, until ctx ends, which
	// is no error. It calls ready once, and reports no key that existed then as new. It misses no
	// later change, except of keys that end right after they began, and reports every change before
	// later ones that it does not know at the same time. One goroutine calls both functions, which
	// must not block.
	Watch(ctx context.Context, ready func(), changed func(Change)) error
	// Close closes the connections. It ends no session.
	Close() error
}

// Session is held by one caller at a time.
type Session interface {
	// TTL is the granted TTL.
	TTL() time.Duration
	// Attach creates a key that ends with the session. The key lies below the target prefix,
	// separate from client keys.
	Attach(ctx context.Context, key, value []byte) error
	// Keep renews the session.
	Keep(ctx context.Context) error
	// Abandon makes the holder look dead: it does not notify the members.
	Abandon()
	// Release ends the session and its keys, also after Abandon. A session that has already
	// ended is no error.
	Release(ctx context.Context) error
}

// Taker is optional on a [Session]: it competes with other sessions for a key.
type Taker interface {
	// Take does as [Session.Attach] if no session has the key, and reports whether this one has it
	// now. After a session ends, a database may refuse its keys to all sessions for a while.
	Take(ctx context.Context, key, value []byte) (taken bool, err error)
}

// Change is a new key or the end of a key, by its name in [Session.Attach].
type Change struct {
	Key []byte
	// New is true for a new key, false for the end of a key.
	New bool
	// At is when the change was known. Since is when it surely had not happened; it is zero if a
	// member reports the change by itself.
	Since, At time.Time
}

// SessionID names a session of a [Leaser]. Bytes that a database does not use are 0.
type SessionID [16]byte

// NumberedSession returns the id of a session a database numbers.
func NumberedSession(number int64) (id SessionID) {
	binary.BigEndian.PutUint64(id[:], uint64(number))
	return id
}

// Number returns the number of a [NumberedSession].
func (id SessionID) Number() int64 { return int64(binary.BigEndian.Uint64(id[:])) }

// Leaser is optional on a [Client]: it begins, renews and ends sessions, each in one request. These
// sessions have no keys and no prefix: all clients in a cluster can name them.
type Leaser interface {
	// Grant begins a session with a TTL, which members may change.
	Grant(ctx context.Context, ttl time.Duration) (SessionID, error)
	// KeepAlive renews a session. If the session has ended, the error wraps [ErrNoSession].
	KeepAlive(ctx context.Context, id SessionID) error
	// Revoke ends a session. If the session has already ended, the error wraps ErrNoSession,
	// unless the database does not report that.
	Revoke(ctx context.Context, id SessionID) error
}

// WhyNot returns why clients lack an operation, "" if the reason is unknown.
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

// SessionKeys is the name below which session keys lie, after the target prefix.
const SessionKeys = "sessions/"

// WatchList implements [Sessions.Watch] by polling a database for all key names. After each answer
// it waits as long as the answer took, and at least least.
func WatchList(ctx context.Context, least time.Duration, list func(context.Context) ([]string, error), ready func(), changed func(Change)) error {
	listed := NewListed(ready, changed)
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

// Listed compares each list with all key names to the previous list. It is not safe for concurrent
// use.
type Listed struct {
	ready   func() // nil after the first list
	changed func(Change)
	names   map[string]struct{}
	sent    time.Time // when the last list was asked for
}

// NewListed returns a comparison without any list, for the two functions passed to
// [Sessions.Watch].
func NewListed(ready func(), changed func(Change)) *Listed {
	return &Listed{ready: ready, changed: changed}
}

// Next reports the keys that the list lacks and the previous one had, and then those that only the
// list has. After the first list it reports that the watch is ready. The list was requested at sent
// and answered at at.
func (l *Listed) Next(names []string, sent, at time.Time) {
	now := make(map[string]struct{}, len(names))
	for _, name := range names {
		now[name] = struct{}{}
	}
	for name := range l.names {
		if _, still := now[name]; !still {
			l.changed(Change{Key: []byte(name), Since: l.sent, At: at})
		}
	}
	for name := range now {
		if _, before := l.names[name]; !before && l.ready == nil {
			l.changed(Change{Key: []byte(name), New: true, Since: l.sent, At: at})
		}
	}
	if l.names, l.sent = now, sent; l.ready != nil {
		l.ready()
		l.ready = nil
	}
}

// Unchanged notes that nothing had changed since the last list at a time.
func (l *Listed) Unchanged(until time.Time) { l.sent = until }
