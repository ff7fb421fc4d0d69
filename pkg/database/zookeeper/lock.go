package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
)

var (
	_ database.LockDialer = (*Options)(nil)
	_ database.Locks      = (*contenders)(nil)
	_ database.Contender  = (*contender)(nil)
	_ database.Contender  = (*libraryContender)(nil)
)

// LockFacts are those of locks with sessions of that kind: each contender has an ephemeral
// sequential znode, and that with the lowest number holds the lock.
func LockFacts(session database.SessionFacts) *database.LockFacts {
	recipe := database.LockRecipe{
		Name: database.LockLibrary, Library: "github.com/go-zookeeper/zk", Queue: true,
		Fence: "the transaction that created the contender's znode (czxid)",
		Waits: "a watch of the znode before, and a list of all when that is gone",
	}
	direct := recipe
	direct.Name, direct.Library, direct.Places = database.LockDirect, "", true
	direct.Waits = "a watch of the znode before, and a list of all when that is gone, unless it held the lock"
	return &database.LockFacts{
		What:    "ephemeral sequential znode",
		Recipes: []database.LockRecipe{recipe, direct},
		Session: session,
		// Of go-zookeeper's pings.
		Renews: func(ttl time.Duration) time.Duration { return ttl / 3 },
	}
}

// DialLocks creates nothing: contenders do.
func (o *Options) DialLocks(_ context.Context, t database.Target, lo database.LockOptions) (database.Locks, error) {
	return o.protocol().DialLocks(t, lo, LockFacts(o.SessionFacts()))
}

// DialLocks makes contenders with those facts, each with one member after the other.
func (p Protocol) DialLocks(t database.Target, lo database.LockOptions, f *database.LockFacts) (database.Locks, error) {
	recipe, err := f.Recipe(lo.Recipe)
	switch {
	case err != nil:
		return nil, fmt.Errorf("dial: %w", err)
	case lo.Delay != 0:
		return nil, errors.New("dial: locks have no delay")
	}
	keys := p.Keys.below(t)
	return &contenders{
		target: t, keys: keys, parent: keys.root + "/" + strings.TrimSuffix(database.LockKeys, "/"),
		ttl: f.Session.Granted(lo.TTL), recipe: recipe.Name, buffers: p.bufferSize(1),
	}, nil
}

// contenders makes contenders.
type contenders struct {
	target  database.Target
	keys    Keyspace
	parent  string // of the znodes of locks, each of which is the parent of its contenders'
	ttl     time.Duration
	recipe  string
	buffers int
}

// lockListing is room for the names of about 1000 contenders, in bytes.
const lockListing = 64 << 10

// open begins a session.
func (c *contenders) open(ctx context.Context) (*session, error) {
	return openUntil(ctx, c.target, c.ttl, c.buffers, lockListing)
}

// Contender begins a session.
func (c *contenders) Contender(ctx context.Context) (database.Contender, error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	if c.recipe == database.LockLibrary {
		return &libraryContender{place: place{on: c, session: s}}, nil
	}
	return &contender{place: place{on: c, session: s}}, nil
}

// Close removes the znodes of locks without contenders, and their parent if none is left.
func (c *contenders) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	s, err := openFor(ctx, c.target, c.buffers, maxListing)
	if err != nil {
		return nil // no member answers any more
	}
	defer s.close()
	names, err := s.names(ctx, c.parent)
	if err != nil {
		return fmt.Errorf("list the znodes of locks: %w", err)
	}
	paths := make([]string, 0, len(names)+1)
	for _, name := range names {
		paths = append(paths, c.parent+"/"+name)
	}
	for _, path := range append(paths, c.parent) {
		if err := s.remove(ctx, []byte(path)); err != nil && !isRefused(err) {
			return fmt.Errorf("remove the znode of a lock: %w", err)
		}
	}
	return nil
}

// dir is the znode of a lock.
func (c *contenders) dir(name []byte) string {
	return string(appendName([]byte(c.parent+"/"), name))
}

// place is where a contender is: its session and the lock that it asked for last.
type place struct {
	on      *contenders
	session *session // nil after a request whose outcome is unknown
	dir     string   // that exists, "" for none
}

// enter has a session and the znode of a lock. The recipe of the library would create that too, but
// a proxy may answer that there is no such znode to a contender whose own was made once there was
// one, which nobody then removes.
func (p *place) enter(ctx context.Context, name []byte) (err error) {
	if p.session == nil {
		if p.session, err = p.on.open(ctx); err != nil {
			return err
		}
	}
	dir := p.on.dir(name)
	if dir == p.dir {
		return nil
	}
	err = p.on.keys.makeRoot(ctx, p.session)
	for _, path := range []string{p.on.parent, dir} {
		if err == nil || errors.Is(err, zk.ErrNodeExists) {
			err = p.session.create(ctx, path, 0)
		}
	}
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return err
	}
	p.dir = dir
	return nil
}

// give ends the session with whatever it may have.
func (p *place) give() {
	if p.session != nil {
		p.session.close()
	}
	p.session, p.dir = nil, ""
}

// Abandon cuts the connection for good, without the end of the session.
func (p *place) Abandon() {
	if p.session != nil {
		p.session.network.close()
	}
}

// Close ends the session, which removes its znode.
func (p *place) Close(context.Context) error {
	p.give()
	return nil
}

// lockNode is the name of contenders' znodes without their numbers, as that of the library.
const lockNode = "lock-"

// numberOf returns the number of a contender's znode.
func numberOf(name string) (number int, ok bool) {
	i := strings.LastIndex(name, lockNode)
	if i < 0 {
		return 0, false
	}
	number, err := strconv.Atoi(name[i+len(lockNode):])
	return number, err == nil
}

// before returns the contender's znode that is in front of one, "" if there is none, and whether
// it is the first of all. It fails if the znode itself is not there.
func before(names []string, own string) (front string, first bool, err error) {
	number, ok := numberOf(own)
	if !ok {
		return "", false, fmt.Errorf("%w: a sequential znode is called %q", errMalformed, own)
	}
	best, ahead, there := -1, 0, false
	for _, name := range names {
		switch n, ok := numberOf(name); {
		case !ok:
		case name == own:
			there = true
		case n < number:
			if ahead++; n > best {
				best, front = n, name
			}
		}
	}
	if !there {
		return "", false, errGone
	}
	return front, ahead == 1, nil
}

// errGone is the error of a contender whose znode is gone: so is its session.
var errGone = database.NotApplied(database.ClassNotFound, database.ErrNoSession)

// lost makes an error of a request for a session that has ended.
func lost(err error) error {
	if errors.Is(err, zk.ErrSessionExpired) {
		return errGone
	}
	return err
}

// contender is a session with at most one znode.
type contender struct {
	place
	path string // of the znode, "" for none
}

// cleanWithin bounds the removal of the znode of a wait that was given up.
const cleanWithin = 5 * time.Second

// Acquire creates a znode and waits until it is the first.
func (c *contender) Acquire(ctx context.Context, name []byte, placed func()) (database.Held, error) {
	path, err := c.create(ctx, name)
	if err != nil {
		c.give()
		return database.Held{}, lost(err)
	}
	if placed != nil {
		placed()
	}
	err = c.wait(ctx, path)
	at := time.Now()
	var fence int64
	if err == nil {
		fence, _, err = c.session.created(ctx, path)
	}
	if err != nil {
		c.leave(ctx, path)
		return database.Held{}, lost(err)
	}
	c.path = path
	return database.Held{At: at, Fence: fence, Lost: c.session.expired}, nil
}

// create creates the znode. If that of the lock is gone, it begins with another session: see enter.
func (c *contender) create(ctx context.Context, name []byte) (made string, err error) {
	for range 3 {
		if err := c.enter(ctx, name); err != nil {
			return "", err
		}
		err = c.session.do(ctx, func(conn *zk.Conn) error {
			path, err := conn.CreateProtectedEphemeralSequential(c.dir+"/"+lockNode, nil, c.session.access)
			if err == nil {
				made = path
			}
			return err
		})
		if !errors.Is(err, zk.ErrNoNode) {
			break
		}
		c.give()
	}
	if err == nil && !strings.HasPrefix(made, c.dir+"/") {
		err = database.MaybeApplied(database.ClassOther, fmt.Errorf("%w: a znode of %s is called %q", errMalformed, c.dir, made))
	}
	return made, err
}

// wait returns when the znode is the first.
func (c *contender) wait(ctx context.Context, path string) error {
	own := path[len(c.dir)+len("/"):]
	for {
		names, err := c.session.names(ctx, c.dir)
		if err != nil {
			return err
		}
		front, held, err := before(names, own)
		if err != nil || front == "" {
			return err
		}
		turn, err := c.gone(ctx, c.dir+"/"+front, held)
		if err != nil || turn {
			return err
		}
	}
}

// gone waits until the znode in front is deleted. If that held the lock, it is the contender's
// turn.
func (c *contender) gone(ctx context.Context, path string, held bool) (turn bool, err error) {
	var changed <-chan zk.Event
	err = c.session.do(ctx, func(conn *zk.Conn) error {
		_, _, events, err := conn.GetW(path)
		if err == nil {
			changed = events
		}
		return err
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return held, nil
	case err != nil:
		return false, err
	}
	select {
	case e := <-changed:
		return held && e.Err == nil && e.Type == zk.EventNodeDeleted, e.Err
	case <-c.session.expired:
		return false, errGone
	case <-ctx.Done():
		return false, classify(ctx.Err(), true)
	}
}

// created returns the transaction that created a znode, and the session whose it is.
func (s *session) created(ctx context.Context, path string) (zxid, owner int64, err error) {
	// A call that timed out writes to its own answer, which is never read.
	var got zk.Stat
	err = s.do(ctx, func(c *zk.Conn) error {
		there, stat, err := c.Exists(path)
		switch {
		case err != nil:
			return err
		case !there:
			return zk.ErrSessionExpired
		}
		got = *stat
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	return got.Czxid, got.EphemeralOwner, nil
}

// leave removes the znode, or ends the session.
func (c *contender) leave(ctx context.Context, path string) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanWithin)
	defer cancel()
	if err := c.session.remove(within, []byte(path)); err != nil && !errors.Is(err, zk.ErrNoNode) {
		c.give()
	}
}

// Release removes the znode.
func (c *contender) Release(ctx context.Context) error {
	path := c.path
	c.path = ""
	return released(c.session.remove(ctx, []byte(path)))
}

// released is the error of a release whose znode was removed with that error.
func released(err error) error {
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrSessionExpired) {
		return database.NotApplied(database.ClassNotFound, database.ErrLockLost)
	}
	return err
}

// libraryContender takes locks of the library. Its calls take no context: a wait that is given up
// costs the session.
type libraryContender struct {
	place
	lock *zk.Lock
}

// Acquire locks a lock of the library. The fence is then asked for, for which the contenders are
// listed: the library does not tell the path.
func (c *libraryContender) Acquire(ctx context.Context, name []byte, _ func()) (held database.Held, err error) {
	if err := c.enter(ctx, name); err != nil {
		c.give()
		return database.Held{}, lost(err)
	}
	lock := zk.NewLock(c.session.conn, c.dir, c.session.access)
	err = c.session.do(ctx, func(*zk.Conn) error { return lock.Lock() })
	held.At, held.Lost = time.Now(), c.session.expired
	if err == nil {
		held.Fence, err = c.fence(ctx)
	}
	if err != nil {
		c.give()
		return database.Held{}, lost(err)
	}
	c.lock = lock
	return held, nil
}

// fence returns that of the session, whose znode is the first.
func (c *libraryContender) fence(ctx context.Context) (int64, error) {
	names, err := c.session.names(ctx, c.dir)
	if err != nil {
		return 0, err
	}
	lowest, first := -1, ""
	for _, name := range names {
		if n, ok := numberOf(name); ok && (first == "" || n < lowest) {
			lowest, first = n, name
		}
	}
	zxid, owner, err := c.session.created(ctx, c.dir+"/"+first)
	if err == nil && owner != c.session.conn.SessionID() {
		err = errGone
	}
	return zxid, err
}

// Release unlocks the lock.
func (c *libraryContender) Release(ctx context.Context) error {
	lock := c.lock
	c.lock = nil
	return released(c.session.do(ctx, func(*zk.Conn) error { return lock.Unlock() }))
}
