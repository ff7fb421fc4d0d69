package zookeeper

import (
	"context"
	"crypto/tls"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
)

const (
	// sessionTimeout is the time without a message after which servers end a session.
	// go-zookeeper gives up a connection after two thirds of that time without an answer.
	sessionTimeout = 10 * time.Second
	// dialTimeout bounds a dial whose context has no deadline.
	dialTimeout = 10 * time.Second
)

// session runs the calls of a go-zookeeper session. Library calls take no context, so one goroutine
// makes all of them. A timed-out call keeps that goroutine busy until its answer. The next call
// would wait for that answer anyway, because a server answers session requests in order.
type session struct {
	conn    *zk.Conn
	network *network
	access  access // for created znodes
	largest int    // packet in bytes that the buffers hold
	calls   chan call
	quit    chan struct{}
	expired chan struct{} // closed when a server has reported that the first session ended
	once    sync.Once
	tasks   sync.WaitGroup
}

// call is a request and the channel for its result.
type call struct {
	request func(*zk.Conn) error
	answer  chan error
}

// open returns once a server has confirmed a session and accepted the credentials.
// Requests and answers may have as many bytes as the buffers.
func open(ctx context.Context, t database.Target, buffers int) (*session, error) {
	return openFor(ctx, t, buffers, buffers)
}

// openFor opens a session with different buffer sizes for requests and answers. The answer buffer
// grows up to that size.
func openFor(ctx context.Context, t database.Target, buffers, answers int) (*session, error) {
	return openUntil(ctx, t, sessionTimeout, buffers, answers)
}

// openUntil opens like openFor, with another session timeout.
func openUntil(ctx context.Context, t database.Target, silence time.Duration, buffers, answers int) (*session, error) {
	r, err := routeTo(t)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if extra := r.access.size() - openToAll; extra > 0 {
		buffers += extra
		answers += extra
	}
	n := newNetwork(r.tls, len(r.endpoints), answers)
	conn, events, err := zk.Connect(r.endpoints, silence,
		zk.WithDialer(n.dial), zk.WithLogger(noLog{}), zk.WithLogInfo(false),
		zk.WithMaxBufferSize(answers), zk.WithMaxConnBufferSize(buffers))
	if err != nil {
		n.close()
		return nil, err
	}
	s := &session{
		conn: conn, network: n, access: r.access, largest: buffers - lengthField,
		calls: make(chan call), quit: make(chan struct{}), expired: make(chan struct{}),
	}
	s.tasks.Go(s.work)
	confirmed := make(chan struct{})
	s.tasks.Go(func() { s.watch(events, confirmed) })
	err = n.wait(ctx, confirmed, len(r.endpoints))
	if err == nil && t.Auth != nil {
		err = s.do(ctx, digest(t.Auth))
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// route is a session's way to a target, over either transport.
type route struct {
	endpoints []string
	access    access      // for created znodes
	tls       *tls.Config // nil for plaintext
}

func routeTo(t database.Target) (r route, err error) {
	if r.endpoints, err = t.Preferred(); err != nil {
		return route{}, err
	}
	if r.access, err = accessOf(t.Auth); err != nil {
		return route{}, err
	}
	r.tls, err = t.TLS.Config()
	return r, err
}

// work makes the calls, one at a time, until quit.
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

// watch closes confirmed when a server has confirmed the first session, and expired when that
// session has ended. It returns when the library goroutines have ended.
func (s *session) watch(events <-chan zk.Event, confirmed chan<- struct{}) {
	lasts := true
	for e := range events {
		switch {
		case e.State == zk.StateHasSession && confirmed != nil:
			close(confirmed)
			confirmed = nil
		case e.State == zk.StateExpired && lasts:
			close(s.expired)
			lasts = false
		}
	}
}

// do makes one request. Its error is classified and wraps the library error.
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

func (s *session) get(ctx context.Context, to, path []byte) (value []byte, version int32, err error) {
	type answer struct {
		value   []byte
		version int32
	}
	at := string(path)
	// A timed-out call writes to its own answer, which is never read.
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
	if len(to) == 0 && cap(to) < len(got.value) {
		return got.value, got.version, nil
	}
	return append(to, got.value...), got.version, nil
}

func (s *session) sync(ctx context.Context, path []byte) error {
	at := string(path)
	return ignoreNoNode(s.do(ctx, func(c *zk.Conn) error { _, err := c.Sync(at); return err }))
}

// ignoreNoNode returns an error from a sync, except the error for a missing path, which only a
// proxy returns.
func ignoreNoNode(err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// children returns a znode's number of children, -1 if it does not exist.
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

// names returns the child names of a znode, or nil if it does not exist.
func (s *session) names(ctx context.Context, path string) ([]string, error) {
	// A timed-out call writes to its own answer, which is never read.
	var names []string
	err := s.do(ctx, func(c *zk.Conn) (err error) {
		names, _, err = c.Children(path)
		return err
	})
	if err != nil {
		return nil, ignoreNoNode(err)
	}
	return names, nil
}

// readable reports whether a znode exists. A znode the credentials may not read is an error.
func readable(ctx context.Context, s requests, path string) (bool, error) {
	_, _, err := s.get(ctx, nil, []byte(path))
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, err
}

// create creates an empty znode.
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

// noLog drops the library log, which repeats errors.
type noLog struct{}

func (noLog) Printf(string, ...any) {}
