package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/sleep"
)

var (
	_ database.SessionDialer = (*Options)(nil)
	_ database.SessionRuler  = (*Options)(nil)
	_ database.Sessions      = (*holders)(nil)
	_ database.Session       = (*holder)(nil)
	_ database.Taker         = (*holder)(nil)
)

// The bounds for a session timeout in ticks, unless server options change them.
const (
	leastTicks = 2
	mostTicks  = 20
)

// sessionFacts returns the facts for servers that use that tick. The leader ends sessions at ticks.
// Every half tick a follower reports which clients it heard from, so a session it serves may last
// half a tick longer.
func sessionFacts(tick time.Duration) *database.SessionFacts {
	return &database.SessionFacts{
		What: "session with ephemeral znodes", Least: leastTicks * tick, Most: mostTicks * tick, Step: time.Millisecond,
		Rule: fmt.Sprintf("at the leader's first tick of %v after its TTL, which begins up to half a tick later at followers", tick),
		Ends: func(ttl time.Duration, _ int) (earliest, latest time.Duration) {
			return ttl, ttl + tick + tick/2
		},
		Conns: true, Takes: true,
		NoRequests: "a session is a connection there, which its client begins, pings and ends by itself: no request does so for another",
		Renewal:    "a ping, over a connection of each session", Watch: "a watch of their parent's children and a list after each change",
	}
}

func (o *Options) tick() time.Duration { return time.Duration(o.TickTime) * time.Millisecond }

// SessionFacts returns the facts for the tick in the options.
func (o *Options) SessionFacts() database.SessionFacts { return *sessionFacts(o.tick()) }

// DialSessions creates the parent of the ephemeral znodes.
func (o *Options) DialSessions(ctx context.Context, t database.Target) (database.Sessions, error) {
	p := o.protocol()
	keys := p.Keys.below(t)
	h := &holders{target: t, buffers: p.bufferSize(t.MaxBytes), parent: keys.root + "/" + strings.TrimSuffix(database.SessionKeys, "/")}
	var err error
	if h.route, err = routeTo(t); err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	s, err := open(ctx, t, p.bufferSize(1))
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	defer s.close()
	if err = keys.makeRoot(ctx, s); err == nil {
		err = s.create(ctx, h.parent, 0)
	}
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return nil, fmt.Errorf("create the parent of the znodes of sessions: %w", err)
	}
	return h, nil
}

// holders begins sessions, each over its own connection, with the members in turn.
type holders struct {
	route
	target  database.Target
	buffers int
	parent  string // of the znodes
	last    atomic.Int64
}

// Grant begins a session.
func (h *holders) Grant(ctx context.Context, ttl time.Duration) (database.Session, error) {
	s := &holder{on: h, asked: ttl, member: int(h.last.Add(1)) % len(h.endpoints)}
	err := s.exchange(ctx, nil)
	if err != nil {
		s.wire.close()
		return nil, err
	}
	return s, nil
}

// Watch lists the children again after each change.
func (h *holders) Watch(ctx context.Context, ready func(), report func(database.Change)) error {
	s, err := openFor(ctx, h.target, h.buffers, maxListing)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("watch: %w", err)
	}
	defer s.close()
	listed := database.NewListed(ready, report)
	for {
		sent, over := time.Now(), s.network.current()
		names, changed, err := s.childrenWatched(ctx, h.parent)
		switch _, class := database.Classify(err); {
		case ctx.Err() != nil:
			return nil
		case class == database.ClassConnection || class == database.ClassUnavailable:
			if !sleep.For(ctx, startPause) { // while the library looks for another member
				return nil
			}
			continue
		case err != nil:
			return fmt.Errorf("watch: %w", err)
		}
		listed.Next(names, sent, time.Now())
		select {
		case e := <-changed:
			if e.Err == nil && s.network.current() == over { // else something may have changed meanwhile
				listed.Unchanged(time.Now())
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// childrenWatched returns the child names of a znode, and a channel that reports their first
// change.
func (s *session) childrenWatched(ctx context.Context, path string) (names []string, changed <-chan zk.Event, err error) {
	type answer struct {
		names   []string
		changed <-chan zk.Event
	}
	// A timed-out call writes to its own answer, which is never read.
	var got answer
	err = s.do(ctx, func(c *zk.Conn) error {
		names, _, changed, err := c.ChildrenW(path)
		if err == nil {
			got = answer{unescapedNames(names), changed}
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return got.names, got.changed, nil
}

// unescapedNames undoes appendName, except for the empty key.
func unescapedNames(names []string) []string {
	for i, name := range names {
		if plain, err := url.PathUnescape(name); err == nil {
			names[i] = plain
		}
	}
	return names
}

// Close removes the parent, unless it has children.
func (h *holders) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	s, err := open(ctx, h.target, h.buffers)
	if err != nil {
		return nil // no member answers any more
	}
	defer s.close()
	if err := s.remove(ctx, []byte(h.parent)); err != nil && !isRefused(err) {
		return fmt.Errorf("remove the parent of the znodes of sessions: %w", err)
	}
	return nil
}
