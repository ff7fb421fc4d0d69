package zookeeper

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
)

const (
	// sessionTimeout is how long servers keep a session that they don't hear from.
	// A connection without an answer for two thirds of it is given up.
	sessionTimeout = 10 * time.Second
	// dialTimeout bounds a dial whose context has no deadline.
	dialTimeout = 10 * time.Second
)

// session is one session by the library. Its calls know no context
// and no deadline, so one goroutine, the only one, makes them: a call that ran
// out of time leaves that goroutine busy and nothing else behind, and as a server
// answers a session in order, the next call would have to wait for the answer to
// that one anyway.
type session struct {
	conn    *zk.Conn
	network *network
	access  access // of what it creates
	largest int    // packet in bytes that the buffers hold
	calls   chan call
	quit    chan struct{}
	once    sync.Once
	tasks   sync.WaitGroup
}

// call is one request and where its outcome goes.
type call struct {
	request func(*zk.Conn) error
	answer  chan error
}

// open opens a session with buffers of that many bytes and returns when a server
// has confirmed it and was shown the credentials.
func open(ctx context.Context, t database.Target, buffers int) (*session, error) {
	w, err := wayTo(t)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if extra := w.access.size() - openToAll; extra > 0 {
		buffers += extra
	}
	n := newNetwork(w.tls, len(w.endpoints))
	conn, events, err := zk.Connect(w.endpoints, sessionTimeout,
		zk.WithDialer(n.dial), zk.WithLogger(silence{}), zk.WithLogInfo(false),
		zk.WithMaxBufferSize(buffers), zk.WithMaxConnBufferSize(buffers))
	if err != nil {
		n.close()
		return nil, err
	}
	s := &session{
		conn: conn, network: n, access: w.access, largest: buffers - lengthField,
		calls: make(chan call), quit: make(chan struct{}),
	}
	s.tasks.Go(s.work)
	confirmed := make(chan struct{})
	s.tasks.Go(func() { s.watch(events, confirmed) })
	err = n.wait(ctx, confirmed, len(w.endpoints))
	if err == nil && t.Auth != nil {
		err = s.do(ctx, digest(t.Auth))
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// way is what a session with a target needs, whatever carries it.
type way struct {
	endpoints []string
	access    access      // of what it creates
	tls       *tls.Config // nil for plaintext
}

func wayTo(t database.Target) (w way, err error) {
	if w.endpoints, err = preferred(t); err != nil {
		return way{}, err
	}
	if w.access, err = accessOf(t.Auth); err != nil {
		return way{}, err
	}
	w.tls, err = t.TLS.Config()
	return w, err
}

// preferred returns the endpoints that a connection may use.
func preferred(t database.Target) ([]string, error) {
	switch {
	case len(t.Endpoints) == 0:
		return nil, errors.New("no endpoints")
	case t.Prefer >= len(t.Endpoints):
		return nil, fmt.Errorf("endpoint %d of %d is preferred", t.Prefer, len(t.Endpoints))
	case t.Prefer >= 0:
		return t.Endpoints[t.Prefer : t.Prefer+1], nil
	}
	return t.Endpoints, nil
}

// work makes the calls, one after the other.
func (s *session) work() {
	for {
		select {
		case c := <-s.calls:
			c.answer <- c.request(s.conn)
		case <-s.quit:
			return
		}
	}
}

// watch closes confirmed with the first session, and returns when the library's
// goroutines have ended.
func (s *session) watch(events <-chan zk.Event, confirmed chan<- struct{}) {
	for e := range events {
		if e.State == zk.StateHasSession && confirmed != nil {
			close(confirmed)
			confirmed = nil
		}
	}
}

// do makes one request and returns its classed error, which also wraps the
// library's.
func (s *session) do(ctx context.Context, request func(*zk.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return classify(err, false)
	}
	c := call{request, make(chan error, 1)}
	select {
	case s.calls <- c:
	case <-ctx.Done():
		return classify(ctx.Err(), false)
	case <-s.quit:
		return classify(zk.ErrClosing, false)
	}
	select {
	case err := <-c.answer:
		return classify(err, true)
	case <-ctx.Done():
		return classify(ctx.Err(), true)
	}
}

func (s *session) add(ctx context.Context, path, value []byte) error {
	at := string(path)
	return s.do(ctx, func(c *zk.Conn) error { _, err := c.Create(at, value, 0, s.access); return err })
}

func (s *session) set(ctx context.Context, path, value []byte, version int32) error {
	at := string(path)
	return s.do(ctx, func(c *zk.Conn) error { _, err := c.Set(at, value, version); return err })
}

func (s *session) remove(ctx context.Context, path []byte) error {
	at := string(path)
	return s.do(ctx, func(c *zk.Conn) error { return c.Delete(at, anyVersion) })
}

func (s *session) get(ctx context.Context, path []byte) (value []byte, version int32, err error) {
	type answer struct {
		value   []byte
		version int32
	}
	at := string(path)
	// Not shared with a call that ran out of time: nobody looks at its answer.
	var got answer
	err = s.do(ctx, func(c *zk.Conn) error {
		value, stat, err := c.Get(at)
		if err == nil {
			got = answer{value, stat.Version}
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return got.value, got.version, nil
}

func (s *session) sync(ctx context.Context, path []byte) error {
	at := string(path)
	return unlessAbsent(s.do(ctx, func(c *zk.Conn) error { _, err := c.Sync(at); return err }))
}

// unlessAbsent is the error of a sync, but for the one by which a proxy says that
// the path is not there.
func unlessAbsent(err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// children returns how many children a znode has, -1 if there is no such znode.
func (s *session) children(ctx context.Context, path string) (int, error) {
	n := -1
	err := s.do(ctx, func(c *zk.Conn) error {
		exists, stat, err := c.Exists(path)
		if err == nil && exists {
			n = int(stat.NumChildren)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// readable says whether a znode is there. That it is somebody else's is an error.
func readable(ctx context.Context, s requests, path string) (bool, error) {
	_, _, err := s.get(ctx, []byte(path))
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, err
}

// create makes an empty znode.
func (s *session) create(ctx context.Context, path string, flags int32) error {
	return s.do(ctx, func(c *zk.Conn) error { _, err := c.Create(path, nil, flags, s.access); return err })
}

func (s *session) close() {
	s.once.Do(func() {
		s.conn.Close()
		s.network.close()
		close(s.quit)
	})
	s.tasks.Wait()
}

// silence is the log of the library, which tells what errors tell too.
type silence struct{}

func (silence) Printf(string, ...any) {}
