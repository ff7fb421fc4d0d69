// Package http2 is the client side of HTTP/2 (RFC 9113), as far as gRPC to etcd needs it: frames,
// header blocks, windows and the connection, at the least cost to the client machine.
//
// A [Conn] is shared by calls (package unary) and message streams (package stream): it decides
// which goroutine writes, cuts arriving bytes into frames, makes the handshake, and checks whether
// the server is alive. The user of a connection serves its streams: it takes the frames of each
// read from In, gives each to [Conn.Control], and acts upon those of streams.
package http2

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/wire/poller"
)

// Timing holds the timeouts of a connection.
type Timing struct {
	// Keepalive is the silence after which a server with an open stream gets a ping, and
	// PingTimeout the time it has to answer. etcd members close connections that ping more often
	// than every 5 s, or without an open stream.
	Keepalive, PingTimeout time.Duration
	// Linger is how long answers are still read after a write failed.
	Linger time.Duration
}

// UsualTiming returns the timeouts for etcd.
func UsualTiming() Timing {
	return Timing{Keepalive: 10 * time.Second, PingTimeout: 5 * time.Second, Linger: 100 * time.Millisecond}
}

// Streams is implemented by the user of a connection. The connection is locked when a method is
// called.
type Streams interface {
	// Count returns the number of open streams, and of requests that wait for more room.
	Count() (open, waiting int)
	// Refill appends waiting data to the connection writer, as far as flow control allows, and at
	// most a few frames ahead of it.
	Refill()
	// Fail ends all streams. Nothing more is read or written.
	Fail(reason error)
}

// Flow holds the limits that the server sets, by its settings and window updates.
type Flow struct {
	Most    int64 // streams at a time
	Window  int64 // bytes on the connection
	Initial int64 // bytes on a new stream
}

// Conn is one connection. Its user appends to Out, and one goroutine at a time, which
// package poller calls, takes frames from In.
type Conn struct {
	// Mu is the connection lock. It guards all but In.
	Mu sync.Mutex
	// Refuse is why nothing new is accepted any more; nil while new streams are accepted.
	Refuse error
	Out    Writer
	In     Reader
	Flow   Flow
	Heads  *RequestHeads
	Pings  LatePings

	timing  Timing
	carries Streams
	net     poller.Conn
	ready   chan struct{} // closed when the server settings have arrived
	lost    chan error    // receives why nothing more arrives
	look    chan struct{} // receives when Serve must look whether the connection should end

	failure error // why the connection ended
	alive   bool  // something has arrived since the last keepalive check
	pinged  bool  // nothing had, and a ping was sent
	credit  int64 // bytes received since the last WINDOW_UPDATE for the connection
}

// usualRead is the size of a read in bytes, unless the user of the connection sets it.
const usualRead = 4 << 10

// New returns an unconnected connection. The user may change In.Usual and Pings.On before the
// handshake.
func New(timing Timing, heads *RequestHeads, carries Streams) *Conn {
	c := &Conn{
		timing: timing, carries: carries, Heads: heads,
		ready: make(chan struct{}), lost: make(chan error, 1), look: make(chan struct{}, 1),
		Flow: Flow{Most: 1<<63 - 1, Window: FirstWindow, Initial: FirstWindow},
		In:   Reader{Usual: usualRead, heads: newReplyHeads()},
	}
	c.Out.mu, c.Out.refill, c.Out.failed = &c.Mu, carries.Refill, func(err error) { c.fail(lost(err)) }
	return c
}

// errDrained ends a retired connection after its last stream.
var errDrained = errors.New("no call is left on a retired connection")

func lost(err error) error {
	return status.Error(codes.Unavailable, "the connection is lost: "+err.Error())
}

// Lost implements [poller.Reader].
func (c *Conn) Lost(err error) { c.lost <- err }

// Arrived is called before the frames of a read are handled. The connection is locked.
func (c *Conn) Arrived() { c.alive = true }

// Requested is called after a request was appended: acknowledgements that wait for a request go
// with it. The connection is locked.
func (c *Conn) Requested() {
	if c.Out.late > 0 {
		c.Out.late, c.Pings.due = 0, true
	}
}

// Over returns an error if the connection is retired and carries nothing any more: the goroutine
// that reads ends it. The connection is locked.
func (c *Conn) Over() error {
	if c.In.settled && c.drained() {
		return errDrained
	}
	return nil
}

// drained reports whether a retired connection carries nothing.
func (c *Conn) drained() bool {
	if c.Refuse == nil {
		return false
	}
	open, waiting := c.carries.Count()
	return open+waiting == 0
}

// Look makes [Conn.Serve] check whether a retired connection should end, after a stream or call
// has ended for another reason than an arriving frame.
func (c *Conn) Look() {
	select {
	case c.look <- struct{}{}:
	default:
	}
}

// fail accepts nothing new, stops writing, and soon stops reading.
func (c *Conn) fail(reason error) {
	c.Mu.Lock()
	c.Out.broken = true
	if c.failure == nil {
		c.failure = reason
	}
	if c.Refuse == nil {
		c.Refuse = reason
	}
	c.Mu.Unlock()
	c.Look() // arrived answers are still read
}

// Control handles the effect of a frame on the connection itself. An error ends the connection. The
// connection is locked.
func (c *Conn) Control(f Frame) error {
	switch f.Kind {
	case FrameData:
		c.Took(int64(len(f.Payload)))
	case FrameSettings:
		return c.settings(f)
	case FramePing:
		return c.ping(f)
	case FrameWindowUpdate:
		return c.windowUpdate(f)
	case FramePushPromise:
		return errors.New("the server sent PUSH_PROMISE, which the settings forbid")
	}
	return nil // RFC 9113: unknown frames are ignored
}

// Took notes bytes of DATA taken. Control calls it for the frames it gets. The connection is
// locked.
func (c *Conn) Took(bytes int64) {
	// Updates come after 1 GiB each, so they are rare.
	if c.credit += bytes; c.credit >= MaxWindow/2 {
		c.Out.Pending = AppendWindowUpdate(c.Out.Pending, 0, uint32(c.credit))
		c.credit = 0
	}
}

func (c *Conn) settings(f Frame) error {
	p := f.Payload
	switch {
	case f.Stream != 0:
		return errors.New("SETTINGS on a stream")
	case f.Has(FlagAck):
		if len(p) != 0 || !c.In.settled {
			return errors.New("a SETTINGS acknowledgement that is not empty, or comes first")
		}
		return nil
	case len(p)%6 != 0:
		return fmt.Errorf("SETTINGS of %d bytes", len(p))
	}
	for ; len(p) > 0; p = p[6:] {
		if err := c.set(binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:])); err != nil {
			return err
		}
	}
	if !c.In.settled {
		c.In.settled = true
		close(c.ready)
	}
	var b [HeadSize]byte
	return c.Out.answer(AppendHead(b[:0], 0, FrameSettings, FlagAck, 0))
}

// set applies one setting from the server.
func (c *Conn) set(id uint16, value uint32) error {
	switch id {
	case settingHeaderTable:
		c.Heads.limit(value)
	case settingStreams:
		c.Flow.Most = int64(value)
	case settingInitialWindow:
		if value > MaxWindow {
			return fmt.Errorf("an initial window of %d bytes", value)
		}
		c.Flow.Initial = int64(value)
	case settingMaxFrame:
		if value < MaxFrame || value >= 1<<24 {
			return fmt.Errorf("a largest frame of %d bytes", value)
		}
	}
	return nil
}

func (c *Conn) ping(f Frame) error {
	switch {
	case f.Stream != 0 || len(f.Payload) != 8:
		return fmt.Errorf("PING of %d bytes on stream %d", len(f.Payload), f.Stream)
	case f.Has(FlagAck):
		return nil
	}
	var b [HeadSize + 8]byte // on the stack: etcd members ping with every few answers
	ack := append(AppendHead(b[:0], 8, FramePing, FlagAck, 0), f.Payload...)
	if c.Pings.ping(f.Payload) {
		c.Out.late += len(ack)
	}
	return c.Out.answer(ack)
}

// windowUpdate lets more bytes be sent on the connection. The user handles updates for streams.
func (c *Conn) windowUpdate(f Frame) error {
	by, err := f.Increment()
	if err != nil || f.Stream != 0 {
		return err
	}
	if c.Flow.Window += by; by == 0 || c.Flow.Window > MaxWindow {
		return fmt.Errorf("WINDOW_UPDATE grows the connection's window by %d to %d", by, c.Flow.Window)
	}
	return nil
}

// Handshake sends the preface of a connection and reads arriving bytes from then on. It returns
// when the server settings have arrived. The server may send window bytes on each stream until the
// user renews that. After an error the connection has ended.
func (c *Conn) Handshake(ctx context.Context, nc net.Conn, window uint32, read func(net.Conn) (poller.Conn, error)) error {
	if err := c.open(ctx, nc, window, read); err != nil {
		return cause(ctx, errors.Join(err, nc.Close()))
	}
	var err error
	select {
	case <-c.ready:
		return nil
	case err = <-c.lost:
		err = otherProtocol(c.In.buf[:c.In.have], err)
	case <-ctx.Done():
		err = ctx.Err()
	}
	_ = c.end(err)
	c.Out.Wait()
	return err
}

// open sends the preface of a connection, and then begins to read.
func (c *Conn) open(ctx context.Context, nc net.Conn, window uint32, read func(net.Conn) (poller.Conn, error)) error {
	stop := onDone(ctx, func() { _ = nc.Close() })
	defer stop()
	if _, err := nc.Write(preface(window)); err != nil {
		return err
	}
	c.Mu.Lock() // arriving bytes wait for it
	defer c.Mu.Unlock()
	served, err := read(nc)
	c.net, c.Out.net = served, served
	if c.Pings.On {
		c.Pings.socket, _ = served.(poller.LowWater)
	}
	return err
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

// cause returns the error of ctx if it has ended, else err.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// otherProtocol adds to an error which protocol the server speaks, if its first bytes
// show that.
func otherProtocol(received []byte, err error) error {
	const alert = "\x15\x03"
	switch b := string(received); {
	case len(b) >= 2 && b[:2] == alert:
		return fmt.Errorf("the server speaks TLS: %w", err)
	case len(b) >= 5 && b[:5] == "HTTP/":
		return fmt.Errorf("the server speaks HTTP/1 (perhaps HTTPS): %w", err)
	}
	return err
}
