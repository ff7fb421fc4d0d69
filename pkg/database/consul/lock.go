package consul

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/sleep"
)

var (
	_ database.LockDialer = (*Options)(nil)
	_ database.Locks      = (*contenders)(nil)
	_ database.Contender  = (*contender)(nil)
	_ database.Contender  = (*libraryContender)(nil)
)

// lockFacts returns the facts about locks: a lock is a key a session acquires.
func lockFacts() *database.LockFacts {
	const fence = "the index of the key (ModifyIndex) when it was acquired"
	return &database.LockFacts{
		What: "key that a session acquired",
		Recipes: []database.LockRecipe{
			{
				Name: database.LockLibrary, Library: "github.com/hashicorp/consul/api", Fence: fence,
				Waits: "a blocking query of the key", Retry: api.DefaultLockRetryTime,
			},
			{
				Name: database.LockDirect, Fence: fence,
				Waits: "a blocking query of the key, after a transaction that did not lock it", Retry: delayRest,
			},
		},
		Session: *sessionFacts(),
		Renews:  renewals,
		Delayed: "LockDelay", Delay: lockDelay, MostDelay: mostLockDelay,
	}
}

// renewals returns the interval between renewals, as in the Consul client.
func renewals(ttl time.Duration) time.Duration { return ttl / 2 }

// contenders makes contenders. It uses the members in turn unless one is preferred.
type contenders struct {
	on     *Options
	target database.Target
	lo     database.LockOptions
	ttl    time.Duration
	recipe string
	last   atomic.Int64
}

// DialLocks opens no connection: each contender has its own. An ACL token must allow writing
// session_prefix "".
func (o *Options) DialLocks(_ context.Context, t database.Target, lo database.LockOptions) (database.Locks, error) {
	f := lockFacts()
	recipe, err := f.Recipe(lo.Recipe)
	switch {
	case err != nil:
		return nil, fmt.Errorf("dial consul: %w", err)
	case lo.Delay < 0 || lo.Delay > mostLockDelay:
		return nil, fmt.Errorf("dial consul: %s must be from 0 to %v, got %v", f.Delayed, mostLockDelay, lo.Delay)
	case len(t.Endpoints) == 0:
		return nil, errors.New("dial consul: the target has no endpoints")
	}
	return &contenders{on: o, target: t, lo: lo, ttl: f.Session.Granted(lo.TTL), recipe: recipe.Name}, nil
}

// lockConns bounds a contender's connections: for a wait, a renewal, and the query with which the
// library checks whether it still holds the lock.
const lockConns = 4

// open returns a separate client for the next member.
func (c *contenders) open() (*sessions, error) {
	t := c.target
	if t.Prefer < 0 {
		t.Prefer = int(c.last.Add(1)-1) % len(t.Endpoints)
	}
	s := &sessions{prefix: t.KeyPrefix() + database.LockKeys, target: t, body: c.on.members(t).maxBody}
	var err error
	s.api, s.http, err = s.open(lockConns)
	return s, err
}

// Contender begins a session.
func (c *contenders) Contender(ctx context.Context) (database.Contender, error) {
	s, err := c.open()
	if err != nil {
		return nil, fmt.Errorf("dial consul: %w", err)
	}
	within, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	one, err := s.begin(within, c.ttl, c.lo.Delay)
	if err == nil && c.recipe == database.LockLibrary {
		library, err := newLibraryContender(one)
		if err == nil {
			return library, nil
		}
		return nil, errors.Join(err, s.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("dial consul: %w%s", err, hint(err)), s.Close())
	}
	return &contender{session: one, renewer: database.Renew(renewals(c.ttl), c.ttl, one.Keep)}, nil
}

// begin begins a session with a LockDelay, whose locks are released when it ends. The Consul
// library does not send a LockDelay of 0, so Consul would use its default.
func (s *sessions) begin(ctx context.Context, ttl, delay time.Duration) (*session, error) {
	entry := map[string]any{
		"Name": "dbtester", "TTL": ttl.String(), "LockDelay": delay.String(),
		"Behavior": api.SessionBehaviorRelease, "NodeChecks": []string{},
	}
	var made struct{ ID string }
	if _, err := s.api.Raw().Write("/v1/session/create", entry, &made, (&api.WriteOptions{}).WithContext(ctx)); err != nil {
		return nil, classify(ctx, err)
	}
	return &session{on: s, id: made.ID, ttl: ttl}, nil
}

// Close deletes the keys no session holds.
func (c *contenders) Close() error {
	s, err := c.open()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	err = s.deleteFree(ctx)
	if _, class := database.Classify(err); class == database.ClassUnavailable || class == database.ClassTimeout {
		err = nil // no member answers any more
	}
	return errors.Join(err, s.Close())
}

// deleteFree deletes the keys no session holds, unless they change meanwhile.
func (s *sessions) deleteFree(ctx context.Context) error {
	pairs, _, err := s.api.KV().List(s.prefix, (&api.QueryOptions{}).WithContext(ctx))
	if err != nil {
		return classify(ctx, err)
	}
	for _, pair := range pairs {
		if pair.Session != "" || !strings.HasPrefix(pair.Key, s.prefix) {
			continue
		}
		if _, _, err := s.api.KV().DeleteCAS(pair, (&api.WriteOptions{}).WithContext(ctx)); err != nil {
			return classify(ctx, err)
		}
	}
	return nil
}

// keyOf returns the key for a lock.
func (s *sessions) keyOf(name []byte) (string, error) {
	key, err := encodeKey(name)
	if err != nil {
		return "", database.NotApplied(database.ClassOther, err)
	}
	return s.prefix + key, nil
}

// cleanWithin bounds the time to release a key an abandoned wait may hold.
const cleanWithin = 5 * time.Second

// free releases a key the session may hold.
func (s *session) free(ctx context.Context, key string) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanWithin)
	defer cancel()
	_ = s.release(within, key) // else it ends with the session
}

// release releases a key.
func (s *session) release(ctx context.Context, key string) error {
	_, _, err := s.on.api.KV().Release(&api.KVPair{Key: key, Session: s.id}, (&api.WriteOptions{}).WithContext(ctx))
	if errors.Is(err, errFalse) {
		return database.NotApplied(database.ClassNotFound, database.ErrLockLost)
	}
	return classify(ctx, err)
}

// contender is a session and the key it holds.
type contender struct {
	session   *session
	renewer   *database.Renewer
	key       string // may be ""
	abandoned bool
}

// Acquire locks the key in a transaction, whose answer has the fence. If another session holds the
// key, it waits until the key changes.
func (c *contender) Acquire(ctx context.Context, name []byte, _ func()) (database.Held, error) {
	key, err := c.session.on.keyOf(name)
	if err != nil {
		return database.Held{}, err
	}
	index := uint64(0) // at which another session held the key
	for {
		locked, fence, err := c.session.lock(ctx, key)
		at := time.Now()
		if locked == lockTaken {
			c.key = key
			return database.Held{At: at, Fence: fence, Lost: c.renewer.Lost()}, nil
		}
		if err == nil && locked == lockHeld {
			index, err = c.session.unheld(ctx, key, index)
		}
		if err == nil && locked == lockDelayed && !sleep.For(ctx, delayRest) {
			err = classify(ctx, ctx.Err())
		}
		if err != nil {
			c.session.free(ctx, key)
			return database.Held{}, err
		}
	}
}

// taken is the result of a transaction that locks a key.
type taken int

const (
	lockFailed taken = iota
	lockTaken
	lockHeld    // by another session
	lockDelayed // by the LockDelay of a session that ended
)

// The Consul texts for a key that was not locked.
const (
	textDelayed   = "lock delay"
	textHeld      = "lock is already held"
	textNoSession = "invalid session"
)

// lock tries once to lock a key.
func (s *session) lock(ctx context.Context, key string) (how taken, fence int64, err error) {
	op := &api.KVTxnOp{Verb: api.KVLock, Key: key, Session: s.id}
	_, resp, _, err := s.on.api.KV().Txn(api.KVTxnOps{op}, (&api.QueryOptions{}).WithContext(ctx))
	if err != nil {
		return lockFailed, 0, classify(ctx, err)
	}
	var whats []string
	for _, e := range resp.Errors {
		whats = append(whats, e.What)
	}
	if len(whats) > 0 {
		how, err := refusal(strings.Join(whats, "; "))
		return how, 0, err
	}
	if len(resp.Results) != 1 {
		return lockFailed, 0, database.MaybeApplied(database.ClassConnection, fmt.Errorf("%w: %d results of a transaction of one key", errMalformed, len(resp.Results)))
	}
	return lockTaken, int64(resp.Results[0].ModifyIndex), nil
}

// refusal interprets the text from Consul.
func refusal(what string) (taken, error) {
	switch {
	case strings.Contains(what, textDelayed):
		return lockDelayed, nil
	case strings.Contains(what, textHeld):
		return lockHeld, nil
	case strings.Contains(what, textNoSession):
		return lockFailed, database.NotApplied(database.ClassNotFound, database.ErrNoSession)
	case strings.Contains(what, "ermission denied"):
		return lockFailed, database.NotApplied(database.ClassDenied, errors.New(what))
	}
	return lockFailed, database.NotApplied(database.ClassOther, errors.New(what))
}

// unheld waits until no session holds a key, and returns the index of that answer. index is the one
// at which the key was held, 0 if unknown.
func (s *session) unheld(ctx context.Context, key string, index uint64) (uint64, error) {
	for {
		pair, meta, err := s.on.api.KV().Get(key, (&api.QueryOptions{WaitIndex: index}).WithContext(ctx))
		if err != nil {
			return 0, classify(ctx, err)
		}
		if meta.LastIndex < index {
			meta.LastIndex = 0 // the servers were restored
		}
		if index = meta.LastIndex; pair == nil || pair.Session == "" {
			return index, nil
		}
	}
}

// Release releases the key.
func (c *contender) Release(ctx context.Context) error {
	key := c.key
	c.key = ""
	return c.session.release(ctx, key)
}

// Abandon ends the renewals.
func (c *contender) Abandon() {
	c.renewer.Stop()
	c.abandoned = true
}

// Close releases the key, which would be delayed otherwise, and ends the session.
func (c *contender) Close(ctx context.Context) error {
	c.renewer.Stop()
	var err error
	if !c.abandoned {
		if c.key != "" {
			if err = c.session.release(ctx, c.key); errors.Is(err, database.ErrLockLost) {
				err = nil
			}
		}
		err = errors.Join(err, c.session.Release(ctx))
	}
	return errors.Join(err, c.session.on.Close())
}

// libraryContender takes locks in the Consul library with its own session, which the library
// renews.
type libraryContender struct {
	session *session
	client  *api.Client // whose requests end with attempt
	attempt atomic.Pointer[context.Context]

	lock      *api.Lock // held, or nil
	lost      <-chan struct{}
	end       context.CancelFunc // for the attempt by which it is held
	renewal   context.CancelFunc
	ended     chan struct{} // closed when the renewals have ended
	abandoned bool
}

// newLibraryContender starts to renew a session.
func newLibraryContender(s *session) (*libraryContender, error) {
	c := &libraryContender{session: s, ended: make(chan struct{})}
	config := s.on.http.Transport.(*kvTransport).Transport
	client, _, err := library(s.on.target, max(s.on.target.Prefer, 0), attempts{config, c})
	if err != nil {
		return nil, err
	}
	c.client = client
	ctx, cancel := context.WithCancel(context.Background())
	c.renewal = cancel
	go func() {
		defer close(c.ended)
		_ = s.on.api.Session().RenewPeriodic(s.ttl.String(), s.id, (&api.WriteOptions{}).WithContext(ctx), nil)
	}()
	return c, nil
}

// attempts ends lock requests by the library, which take no context, with an attempt.
type attempts struct {
	next http.RoundTripper
	of   *libraryContender
}

func (a attempts) RoundTrip(r *http.Request) (*http.Response, error) {
	return a.next.RoundTrip(r.WithContext(*a.of.attempt.Load()))
}

// Acquire locks a library lock, and then requests the fence.
func (c *libraryContender) Acquire(ctx context.Context, name []byte, _ func()) (database.Held, error) {
	key, err := c.session.on.keyOf(name)
	if err != nil {
		return database.Held{}, err
	}
	lock, err := c.client.LockOpts(&api.LockOptions{Key: key, Session: c.session.id})
	if err != nil {
		return database.Held{}, classify(ctx, err)
	}
	attempt, end := context.WithCancel(context.WithoutCancel(ctx))
	c.attempt.Store(&attempt)
	stop := context.AfterFunc(ctx, end)
	lost, err := lock.Lock(attempt.Done())
	at := time.Now()
	if !stop() && err == nil { // then lost may be nil
		err = ctx.Err()
	}
	if err != nil {
		end()
		if lost != nil {
			<-lost
		}
		c.session.free(ctx, key)
		return database.Held{}, c.classed(ctx, err)
	}
	c.lock, c.lost, c.end = lock, lost, end
	fence, err := c.fence(ctx, key)
	if err != nil {
		_ = c.Release(ctx) // the error for the fence is returned
		c.session.free(ctx, key)
		return database.Held{}, err
	}
	return database.Held{At: at, Fence: fence, Lost: lost}, nil
}

// fence returns the index of a key the session holds.
func (c *libraryContender) fence(ctx context.Context, key string) (int64, error) {
	pair, _, err := c.session.on.api.KV().Get(key, (&api.QueryOptions{}).WithContext(ctx))
	switch {
	case err != nil:
		return 0, classify(ctx, err)
	case pair == nil || pair.Session != c.session.id:
		return 0, database.NotApplied(database.ClassNotFound, database.ErrNoSession)
	}
	return int64(pair.ModifyIndex), nil
}

// classed classifies an error from a library lock.
func (c *libraryContender) classed(ctx context.Context, err error) error {
	if strings.Contains(err.Error(), textNoSession) {
		return database.NotApplied(database.ClassNotFound, database.ErrNoSession)
	}
	return classify(ctx, err)
}

// Release unlocks the lock, and waits until the library has stopped checking whether it is held.
// Unlocking does not report whether it was: the lock counts as lost only if the library knew before.
func (c *libraryContender) Release(ctx context.Context) error {
	lock, lost, end := c.lock, c.lost, c.end
	c.lock = nil
	known := closed(lost)
	stop := context.AfterFunc(ctx, end)
	err := lock.Unlock()
	stop()
	end()
	<-lost
	switch {
	case known:
		return database.NotApplied(database.ClassNotFound, database.ErrLockLost)
	case err != nil:
		return classify(ctx, err)
	}
	return nil
}

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Abandon ends the renewals.
func (c *libraryContender) Abandon() {
	c.renewal()
	<-c.ended
	c.abandoned = true
}

// Close releases the key, which would be delayed otherwise, and ends the session.
func (c *libraryContender) Close(ctx context.Context) error {
	c.renewal()
	<-c.ended
	var errs []error
	if c.lock != nil && c.abandoned {
		c.end()
		<-c.lost
	}
	if !c.abandoned {
		if c.lock != nil {
			if err := c.Release(ctx); !errors.Is(err, database.ErrLockLost) {
				errs = append(errs, err)
			}
		}
		errs = append(errs, c.session.Release(ctx))
	}
	return errors.Join(append(errs, c.session.on.Close())...)
}
