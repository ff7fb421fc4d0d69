package fake

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake/expiry"
)

var (
	_ database.LockDialer = (*Options)(nil)
	_ database.Locks      = (*contenders)(nil)
	_ database.Contender  = (*contender)(nil)
)

// lockConns are a contender's connections: for the wait, for renewals and for ending a wait.
const lockConns = 3

// lockFacts returns the facts about locks.
func lockFacts() *database.LockFacts {
	recipe := database.LockRecipe{Places: true, Fence: "a number of the leader's", Waits: "the answer to a request for the turn"}
	queue, lottery := recipe, recipe
	queue.Name, queue.Queue = recipeQueue, true
	lottery.Name = recipeLottery
	return &database.LockFacts{
		What: "turn of a session", Recipes: []database.LockRecipe{queue, lottery},
		Session: *facts(expiry.Exact), Renews: renewals,
	}
}

// renewals returns the interval between renewals.
func renewals(ttl time.Duration) time.Duration { return ttl / 3 }

// contenders makes contenders at the preferred or else the first member.
type contenders struct {
	on     *Options
	target database.Target
	ttl    time.Duration
	recipe string
}

// DialLocks opens no connection: each contender has its own.
func (o *Options) DialLocks(_ context.Context, t database.Target, lo database.LockOptions) (database.Locks, error) {
	f := database.LockFactsOf(Database().Info, o)
	recipe, err := f.Recipe(lo.Recipe)
	switch {
	case err != nil:
		return nil, fmt.Errorf("dial fake: %w", err)
	case lo.Delay != 0:
		return nil, errors.New("dial fake: locks have no delay")
	}
	return &contenders{on: o, target: t, ttl: f.Session.Granted(lo.TTL), recipe: recipe.Name}, nil
}

// Contender begins a session.
func (c *contenders) Contender(ctx context.Context) (database.Contender, error) {
	s, err := c.on.dialSessions(ctx, c.target, lockConns)
	if err != nil {
		return nil, err
	}
	granted, err := s.Grant(ctx, c.ttl)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &contender{
		on: s, session: granted.(*session), renewer: database.Renew(renewals(c.ttl), c.ttl, granted.Keep),
		prefix: c.target.KeyPrefix() + database.LockKeys, recipe: c.recipe,
	}, nil
}

// Close does nothing.
func (c *contenders) Close() error { return nil }

// contender is a session and the lock it holds.
type contender struct {
	on             *sessions
	session        *session
	renewer        *database.Renewer
	prefix, recipe string
	held           []byte // the request key for the lock, or nil
	abandoned      bool
}

// cleanWithin bounds the time to end an abandoned wait.
const cleanWithin = 2 * time.Second

// Acquire enters and awaits the turn.
func (c *contender) Acquire(ctx context.Context, name []byte, placed func()) (database.Held, error) {
	key := append(append(bytes.Clone(c.session.id), c.prefix...), name...)
	_, err := c.on.do(ctx, opEnter, key, []byte(c.recipe))
	var fence []byte
	if err == nil {
		if placed != nil {
			placed()
		}
		fence, err = c.on.do(ctx, opAwait, key, nil)
	}
	at := time.Now()
	if err == nil && len(fence) != fenceSize {
		err = database.MaybeApplied(database.ClassOther, fmt.Errorf("a fence has %d bytes, got %d", fenceSize, len(fence)))
	}
	if err != nil {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanWithin)
		defer cancel()
		_, _ = c.on.do(within, opLeave, key, nil) // else it ends with the session
		return database.Held{}, err
	}
	c.held = key
	return database.Held{At: at, Fence: int64(binary.BigEndian.Uint64(fence)), Lost: c.renewer.Lost()}, nil
}

// Release ends the turn.
func (c *contender) Release(ctx context.Context) error {
	_, err := c.on.do(ctx, opLeave, c.held, nil)
	c.held = nil
	if errors.Is(err, database.ErrNoSession) {
		return database.NotApplied(database.ClassNotFound, database.ErrLockLost)
	}
	return err
}

// Abandon ends the renewals.
func (c *contender) Abandon() {
	c.renewer.Stop()
	c.abandoned = true
}

// Close ends the session, which ends the turn.
func (c *contender) Close(ctx context.Context) error {
	c.renewer.Stop()
	var err error
	if !c.abandoned {
		if err = c.session.Release(ctx); errors.Is(err, database.ErrNoSession) {
			err = nil
		}
	}
	return errors.Join(err, c.on.Close())
}

// fenceSize is in bytes. A fence is big endian.
const fenceSize = 8

// asked returns the session and the lock in a request key.
func asked(key []byte) (session int64, name string, ok bool) {
	if len(key) < sessionID {
		return 0, "", false
	}
	return int64(binary.BigEndian.Uint64(key)), string(key[sessionID:]), true
}

// lock handles a request about a lock.
func (s *server) lock(op opcode, key, value []byte) (code, []byte) {
	session, name, ok := asked(key)
	switch {
	case !ok:
		return codeRefused, []byte("the key must begin with the number of a session")
	case op == opEnter && !s.leases.of(&s.Options).Alive(session, time.Now()):
		return codeNotFound, nil
	case op == opEnter:
		s.locks.of(s).Enter(name, session, string(value) == recipeLottery)
		return codeOK, nil
	case !s.locks.of(s).Leave(name, session, time.Now()):
		return codeNotFound, nil
	}
	return codeOK, nil
}

// lookEvery is the interval at which a server checks whether a session that holds a lock has ended.
const lookEvery = 2 * time.Millisecond

// await answers with the fence when the session gets its turn.
func (s *server) await(ctx context.Context, key []byte) (code, []byte) {
	session, name, ok := asked(key)
	if !ok {
		return codeRefused, []byte("the key must begin with the number of a session")
	}
	for {
		is := s.locks.of(s).Ask(name, session, time.Now())
		switch {
		case is.Held:
			return codeOK, binary.BigEndian.AppendUint64(nil, uint64(is.Fence))
		case is.Gone:
			return codeNotFound, nil
		}
		look := lookEvery
		if is.Rest > 0 {
			look = min(look, is.Rest)
		}
		again := time.NewTimer(look)
		select {
		case <-is.Changed:
		case <-again.C:
		case <-ctx.Done():
		}
		again.Stop()
		if ctx.Err() != nil {
			return 0, nil
		}
	}
}
