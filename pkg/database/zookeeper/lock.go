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

// LockFacts returns the facts about locks with such sessions. Each contender has an ephemeral
// sequential znode, and the one with the lowest number holds the lock.
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
		// As go-zookeeper pings.
		Renews: func(ttl time.Duration) time.Duration { return ttl / 3 },
	}
}

// DialLocks creates nothing: contenders create the znodes.
func (o *Options) DialLocks(_ context.Context, t database.Target, lo database.LockOptions) (database.Locks, error) {
	return o.protocol().DialLocks(t, lo, LockFacts(o.SessionFacts()))
}

// DialLocks makes contenders with those facts. They use the members in turn.
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
	parent  string // of the lock znodes, each the parent of its contender znodes
	ttl     time.Duration
	recipe  string
	buffers int
}

// lockListing is room for about 1000 contender names, in bytes.
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

// Close removes the znodes of locks without contenders, and their parent if no lock is left.
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

// dir returns the path of a lock znode.
func (c *contenders) dir(name []byte) string {
	return string(appendName([]byte(c.parent+"/"), name))
}

// place holds a contender's session and the lock it requested last.
type place struct {
	on      *contenders
	session *session // nil after a request whose outcome is unknown
	dir     string   // the lock znode, which exists, or ""
}

// enter makes sure that a session and a lock znode exist. The library recipe would also create the
// lock znode. But a proxy may answer that the lock znode is missing and still create the contender
// znode later, which would then remain.
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

// give ends the session with everything that it may hold.
func (p *place) give() {
	if p.session != nil {
		p.session.close()
	}
	p.session, p.dir = nil, ""
}

// Abandon cuts the connection for good, without ending the session.
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

// lockNode is the name of contender znodes without their numbers, as in the library.
const lockNode = "lock-"

// numberOf returns the number of a contender znode.
func numberOf(name string) (number int, ok bool) {
	i := strings.LastIndex(name, lockNode)
	if i < 0 {
		return 0, false
	}
	number, err := strconv.Atoi(name[i+len(lockNode):])
	return number, err == nil
}

// before returns the contender znode directly in front of another, or "", and whether it is the
// first of all. It fails if own does not exist.
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

// errGone is the error for a contender whose znode, and therefore session, is gone.
var errGone = database.NotApplied(database.ClassNotFound, database.ErrNoSession)

// lost returns the error for a request whose session has ended.
func lost(err error) error {
	if errors.Is(err, zk.ErrSessionExpired) {
		return errGone
	}
	return err
}

// contender is a session that has at most one znode.
type contender struct {
	place
	path string // of the znode, or ""
}

// cleanWithin bounds the time to remove the znode of an abandoned wait.
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

// create creates the znode. If the lock znode is gone, it starts over with another session: see
// enter.
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

// gone waits until the znode in front is deleted. If that znode held the lock, it is the
// contender's turn.
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

// created returns the transaction that created a znode, and the session that owns it.
func (s *session) created(ctx context.Context, path string) (zxid, owner int64, err error) {
	// A timed-out call writes to its own answer, which is never read.
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

// released converts an error from removing the znode to an error from a release.
func released(err error) error {
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrSessionExpired) {
		return database.NotApplied(database.ClassNotFound, database.ErrLockLost)
	}
	return err
}

// libraryContender takes library locks. The library calls take no context, so an abandoned wait
// costs the session.
type libraryContender struct {
	place
	lock *zk.Lock
}

// Acquire locks a library lock, and then requests the fence. To find it, the contenders are listed,
// because the library does not return the path.
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

// fence returns the fence of the session, whose znode is the first.
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
