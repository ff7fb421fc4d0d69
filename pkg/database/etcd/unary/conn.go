package unary

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// conn is one HTTP/2 connection. Callers append their requests to one buffer, and
// the first of them writes what all have appended meanwhile. One goroutine, that
// of serve, reads; only it ends calls.
type conn struct {
	net   net.Conn
	peer  *peer
	raw   syscall.RawConn // nil with TLS, where a write can't be tried
	try   func(fd uintptr) bool
	tried struct { // of the one who writes
		batch []byte
		n     int
		err   error
	}
	writers sync.WaitGroup

	mu       sync.Mutex
	refuse   error // why no call is taken any more, nil while they are
	broken   bool  // nothing is written any more
	failure  error // why
	replaced bool  // another connection follows
	streams  map[uint32]*call
	waiting  []*call // calls that are not wholly appended, oldest first
	nextID   uint32
	heads    *requestHeads

	maxStreams   int64
	window       int64 // what the server takes on the connection
	streamWindow int64 // what it takes on a new stream

	pending []byte // what is to be written next
	spare   []byte // the buffer after that, if it is free
	left    []byte // what a first try did not write
	taken   int64  // bytes that left pending since the start
	reached int64  // bytes of those that may have reached the server
	writing bool
	acks    int // answers in pending that no call asked for

	in reader
}

// reader is the state of the goroutine that reads.
type reader struct {
	buf       []byte
	have      int // bytes in buf
	heads     *replyHeads
	settled   bool  // the server's settings have come
	alive     bool  // something has come since the last look
	pinged    bool  // nothing had, and the server was asked
	credit    int64 // bytes taken since the connection's window was last widened
	over      []*call
	block     []byte // of a header block that goes on, with the frame it began with
	begun     frame
	continues bool
}

// idleBuffer bounds the buffers that a connection keeps, readBuffer is what it
// reads into at first.
const idleBuffer, readBuffer = 64 << 10, 4 << 10

func newConn(nc net.Conn, p *peer, scheme string, metadata []Field) *conn {
	c := &conn{
		net: nc, peer: p, streams: map[uint32]*call{}, nextID: 1,
		heads:      newRequestHeads(scheme, p.address, metadata),
		maxStreams: 1<<63 - 1, window: firstWindow, streamWindow: firstWindow,
		in: reader{buf: make([]byte, readBuffer), heads: newReplyHeads()},
	}
	if sc, ok := nc.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			c.raw = raw
		}
	}
	c.try = func(fd uintptr) bool {
		t := &c.tried
		for {
			t.n, t.err = unix.Write(int(fd), t.batch)
			if !errors.Is(t.err, unix.EINTR) {
				return true
			}
		}
	}
	return c
}

// handshake returns when the server has told its settings.
func (c *conn) handshake(ctx context.Context) error {
	stop := onDone(ctx, func() { _ = c.net.Close() })
	defer stop()
	if _, err := c.net.Write(preface()); err != nil {
		return cause(ctx, err)
	}
	for !c.in.settled {
		if err := c.read(); err != nil {
			return cause(ctx, c.stranger(err))
		}
	}
	return c.net.SetReadDeadline(time.Now().Add(c.peer.client.timing.silence))
}

// cause is why ctx ended, if it has, else err.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// stranger says what a server speaks that does not speak HTTP/2, where that can be
// told.
func (c *conn) stranger(err error) error {
	const alert = "\x15\x03"
	switch b := string(c.in.buf[:c.in.have]); {
	case len(b) >= 2 && b[:2] == alert:
		return fmt.Errorf("the server speaks TLS: %w", err)
	case len(b) >= 5 && b[:5] == "HTTP/":
		return fmt.Errorf("the server speaks HTTP/1, and perhaps HTTPS: %w", err)
	}
	return err
}

// serve reads until the connection ends, which the end of ctx makes it do, and
// ends every call that is left.
func (c *conn) serve(ctx context.Context) error {
	stop := onDone(ctx, func() {
		c.fail(status.Error(codes.Canceled, "the client is closed"))
		_ = c.net.Close()
	})
	defer stop()
	var err error
	for err == nil {
		err = c.read()
	}
	return c.end(err)
}

// onDone calls f when ctx is done. The function it returns prevents that, or waits
// for f.
func onDone(ctx context.Context, f func()) func() {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		f()
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

// end fails what is left, waits for those who write and returns why it ended.
func (c *conn) end(err error) error {
	c.mu.Lock()
	c.broken = true
	if c.failure == nil {
		c.failure = lost(err)
	}
	if c.refuse == nil {
		c.refuse = c.failure
	}
	for _, k := range c.streams {
		c.conclude(k, k.end == 0 || k.end > c.reached, c.failure)
	}
	for len(c.waiting) > 0 {
		c.conclude(c.waiting[0], true, c.failure)
	}
	c.mu.Unlock()
	c.peer.leave(c)
	c.wake()
	_ = c.net.Close() // whatever it says, nothing is on it any more
	c.writers.Wait()
	return c.failure
}

// errDrained ends a retired connection after its last call.
var errDrained = errors.New("nothing is left to do")

func lost(err error) error {
	return status.Error(codes.Unavailable, "the connection is lost: "+err.Error())
}

// retire takes no more calls; those under way go on. The connection is locked.
func (c *conn) retire(why error) {
	if c.refuse == nil {
		c.refuse = why
		c.peer.replace(c)
	}
}

// fail takes no more calls and writes no more, and soon reads no more.
func (c *conn) fail(why error) {
	c.mu.Lock()
	c.broken = true
	if c.failure == nil {
		c.failure = why
	}
	if c.refuse == nil {
		c.refuse = why
	}
	// A reply that has come already is worth more than to know that none comes.
	_ = c.net.SetReadDeadline(time.Now().Add(c.peer.client.timing.linger))
	c.mu.Unlock()
	c.peer.leave(c)
}

// finish lets the reader go once a retired connection has nothing left to do. The
// connection is locked.
func (c *conn) finish() {
	if c.drained() {
		_ = c.net.SetReadDeadline(time.Now())
	}
}

func (c *conn) drained() bool {
	return c.refuse != nil && len(c.streams) == 0 && len(c.waiting) == 0
}

// claim makes its caller the one who writes, if there is something to write and
// nobody does. The connection is locked.
func (c *conn) claim() bool {
	if c.writing || c.broken || len(c.pending) == 0 {
		return false
	}
	c.writing = true
	return true
}

// write writes what is pending, after a claim, without waiting for the network:
// what that does not take at once, and what others append meanwhile, is left to a
// goroutine. With others, they are first let run, so that one write carries the
// requests of many.
func (c *conn) write(others bool) {
	if others {
		runtime.Gosched()
	}
	c.mu.Lock()
	if c.broken { // what is pending now was told to be unsent
		c.writing = false
		c.mu.Unlock()
		return
	}
	batch := c.take()
	c.mu.Unlock()
	n, err := c.tryWrite(batch)
	c.mu.Lock()
	c.reached -= int64(len(batch) - n)
	if err == nil && n == len(batch) {
		c.reuse(batch)
		batch, n = nil, 0
		c.pump()
	}
	c.left = batch[n:]
	switch {
	case err != nil:
	case c.broken || (len(c.left) == 0 && len(c.pending) == 0):
		c.writing = false
	default:
		c.writers.Go(c.drain)
	}
	c.mu.Unlock()
	if err != nil {
		c.fail(lost(err))
	}
}

// tryWrite writes what the network takes at once.
func (c *conn) tryWrite(batch []byte) (int, error) {
	if c.raw == nil {
		return 0, nil
	}
	c.tried.batch, c.tried.n, c.tried.err = batch, 0, nil
	if err := c.raw.Write(c.try); err != nil {
		return 0, err
	}
	if errors.Is(c.tried.err, unix.EAGAIN) {
		return 0, nil
	}
	return max(c.tried.n, 0), c.tried.err
}

// drain writes until nothing is pending.
func (c *conn) drain() {
	for {
		batch := c.next()
		if len(batch) == 0 {
			return
		}
		_, err := c.net.Write(batch)
		if err != nil {
			c.fail(lost(err))
		}
		c.mu.Lock()
		c.reuse(batch)
		c.pump()
		c.mu.Unlock()
	}
}

// next returns what to write, nothing if that is all. It lets others run first,
// for more to come.
func (c *conn) next() []byte {
	if len(c.left) == 0 {
		runtime.Gosched()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	batch := c.left
	c.left = nil
	switch {
	case c.broken || len(batch)+len(c.pending) == 0:
		c.writing = false
		return nil
	case len(batch) > 0:
		c.reached += int64(len(batch))
		return batch
	}
	return c.take()
}

// take returns what is pending as one batch. From here on it may have reached the
// server. The connection is locked.
func (c *conn) take() []byte {
	batch := c.pending
	c.pending, c.spare = c.spare[:0], nil
	c.taken += int64(len(batch))
	c.reached = c.taken
	c.acks = 0
	return batch
}

// reuse keeps the buffer of a batch that was written. The connection is locked.
func (c *conn) reuse(batch []byte) {
	if cap(batch) <= idleBuffer {
		c.spare = batch[:0]
	}
}

// dialNet connects to address, with TLS if config is not nil.
func dialNet(ctx context.Context, address string, config *tls.Config) (net.Conn, error) {
	var dialer net.Dialer
	nc, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil || config == nil {
		return nc, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	config = config.Clone()
	config.NextProtos = []string{"h2"}
	if config.ServerName == "" {
		config.ServerName = host
	}
	secure := tls.Client(nc, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("TLS handshake: %w", err), nc.Close())
	}
	if secure.ConnectionState().NegotiatedProtocol != "h2" {
		return nil, errors.Join(errors.New("the server speaks TLS but not HTTP/2"), nc.Close())
	}
	return secure, nil
}
