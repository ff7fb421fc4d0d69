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
		return &libraryContender{on: c, session: s}, nil
	}
	return &contender{on: c, session: s}, nil
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
	paths := []string{c.parent}
	for _, name := range names {
		paths = append([]string{c.parent + "/" + name}, paths...)
	}
	for _, path := range paths {
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

// makeDir creates the znode of a lock and those above.
func (c *contenders) makeDir(ctx context.Context, s *session, dir string) error {
	err := c.keys.makeRoot(ctx, s)
	for _, path := range []string{c.parent, dir} {
		if err == nil || errors.Is(err, zk.ErrNodeExists) {
			err = s.create(ctx, path, 0)
		}
	}
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
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
	on      *contenders
	session *session // nil after a request whose outcome is unknown
	path    string   // of the znode, "" for none
}

// cleanWithin bounds the removal of the znode of a wait that was given up.
const cleanWithin = 5 * time.Second

// Acquire creates a znode and waits until it is the first.
func (c *contender) Acquire(ctx context.Context, name []byte, placed func()) (database.Held, error) {
	if c.session == nil {
		var err error
		if c.session, err = c.on.open(ctx); err != nil {
			return database.Held{}, err
		}
	}
	dir := c.on.dir(name)
	path, err := c.enter(ctx, dir)
	if err != nil {
		c.leave(ctx, "")
		return database.Held{}, lost(err)
	}
	if placed != nil {
		placed()
	}
	own := path[len(dir)+len("/"):]
	for {
		first, front, err := c.look(ctx, dir, own)
		if err == nil && front != "" {
			first, err = c.gone(ctx, dir+"/"+front, first)
		}
		if err == nil && first {
			break
		}
		if err != nil {
			c.leave(ctx, path)
			return database.Held{}, lost(err)
		}
	}
	at := time.Now()
	c.path = path
	fence, _, err := c.session.created(ctx, path)
	if err != nil {
		c.path = ""
		c.leave(ctx, path)
		return database.Held{}, lost(err)
	}
	return database.Held{At: at, Fence: fence, Lost: c.session.expired}, nil
}

// enter creates the znode, and that of the lock if it is not there.
func (c *contender) enter(ctx context.Context, dir string) (string, error) {
	for {
		var made string
		err := c.session.do(ctx, func(conn *zk.Conn) error {
			path, err := conn.CreateProtectedEphemeralSequential(dir+"/"+lockNode, nil, c.session.access)
			if err == nil {
				made = path
			}
			return err
		})
		switch {
		case errors.Is(err, zk.ErrNoNode):
			if err := c.on.makeDir(ctx, c.session, dir); err != nil {
				return "", err
			}
		case err != nil:
			return "", err
		case !strings.HasPrefix(made, dir+"/"):
			return "", database.MaybeApplied(database.ClassOther, fmt.Errorf("%w: a znode of %s is called %q", errMalformed, dir, made))
		default:
			return made, nil
		}
	}
}

// look lists the contenders. It is first if nobody is in front, or if the one in front is first.
func (c *contender) look(ctx context.Context, dir, own string) (first bool, front string, err error) {
	names, err := c.session.names(ctx, dir)
	if err != nil {
		return false, "", err
	}
	front, first, err = before(names, own)
	return first || front == "", front, err
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
		return held && e.Err == nil && e.Type == zk.EventNodeDeleted, lost(e.Err)
	case <-c.session.expired:
		return false, errGone
	case <-ctx.Done():
		return false, classify(ctx.Err(), true)
	}
}

// created returns the transaction that created a znode, and the session whose it is.
func (s *session) created(ctx context.Context, path string) (zxid, owner int64, err error) {
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

// leave removes the znode, or ends the session if it may have one that is not known.
func (c *contender) leave(ctx context.Context, path string) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanWithin)
	defer cancel()
	if path != "" {
		if err := c.session.remove(within, []byte(path)); err == nil || errors.Is(err, zk.ErrNoNode) {
			return
		}
	}
	c.session.close()
	c.session = nil
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

// Abandon cuts the connection for good, without the end of the session.
func (c *contender) Abandon() { c.session.network.close() }

// Close ends the session, which removes its znode.
func (c *contender) Close(context.Context) error {
	if c.session != nil {
		c.session.close()
	}
	return nil
}

// libraryContender takes locks of the library. Its calls take no context: a wait that is given up
// costs the session.
type libraryContender struct {
	on      *contenders
	session *session // nil after a wait that was given up
	lock    *zk.Lock
}

// Acquire locks a lock of the library. The fence is then asked for, for which the contenders are
// listed: the library does not tell the path.
func (c *libraryContender) Acquire(ctx context.Context, name []byte, _ func()) (held database.Held, err error) {
	if c.session == nil {
		if c.session, err = c.on.open(ctx); err != nil {
			return database.Held{}, err
		}
	}
	dir := c.on.dir(name)
	lock := zk.NewLock(c.session.conn, dir, c.session.access)
	err = c.session.do(ctx, func(*zk.Conn) error { return lock.Lock() })
	held.At, held.Lost = time.Now(), c.session.expired
	if err == nil {
		held.Fence, err = c.fence(ctx, dir)
	}
	if err != nil {
		c.session.close()
		c.session = nil
		return database.Held{}, lost(err)
	}
	c.lock = lock
	return held, nil
}

// fence returns that of the session, whose znode is the first.
func (c *libraryContender) fence(ctx context.Context, dir string) (int64, error) {
	names, err := c.session.names(ctx, dir)
	if err != nil {
		return 0, err
	}
	lowest, first := -1, ""
	for _, name := range names {
		if n, ok := numberOf(name); ok && (first == "" || n < lowest) {
			lowest, first = n, name
		}
	}
	zxid, owner, err := c.session.created(ctx, dir+"/"+first)
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

// Abandon cuts the connection for good, without the end of the session.
func (c *libraryContender) Abandon() { c.session.network.close() }

// Close ends the session, which removes its znode.
func (c *libraryContender) Close(context.Context) error {
	if c.session != nil {
		c.session.close()
	}
	return nil
}
