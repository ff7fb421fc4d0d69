// Package stream carries long gRPC message streams in both directions, such as watches and lease
// renewals, at the least cost to the client machine.
//
// [Dial] opens one connection, [Conn.Open] a stream on it, and [Stream.Send] sends a message.
// Messages are passed to the stream function receive: borrowed bytes, and one time for all messages
// in a read. The goroutine that reads serves streams alone, so that thousands of messages delay no
// calls of package unary. The function ended is called once, after the last message.
//
// A stream window is renewed as messages are taken. A slow function receive thus makes the server
// wait, after at most one window of bytes on each stream. An idle stream is pinged, so that a
// vanished server is noticed within 25 s. A lost connection is not dialed again.
package stream

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/database/etcd/http2"
	"github.com/coreos/dbtester/pkg/wire/buffer"
	"github.com/coreos/dbtester/pkg/wire/poller"
)

// Config configures a connection.
type Config struct {
	// Address is the server, as host:port.
	Address string
	// TLS is nil for plaintext.
	TLS *tls.Config
	// Metadata is sent with every stream.
	Metadata []http2.Field
	// Window is the number of bytes that the server may send on a stream before they are taken; 0
	// is 1 MiB.
	Window int
	// Read, unless it is nil, is called after the last message of each read, and before message
	// memory is used again.
	Read func()
	// Pause, unless it is nil, is asked after each read for a channel: nothing more is read until
	// that is closed, which must be before [Conn.Close]. Nil means no pause.
	Pause func() <-chan struct{}
	// MaxMessage is the largest message that is taken, in bytes; 0 is 256 MiB.
	MaxMessage int
}

// The defaults of a configuration.
const (
	usualWindow     = 1 << 20
	usualMaxMessage = 256 << 20
)

// dialTimeout bounds a dial whose context has no earlier deadline.
const dialTimeout = 2 * time.Second

// Conn is one connection for any number of streams. It is safe for concurrent use.
type Conn struct {
	link    *http2.Conn
	streams streams
	// finished are ended streams, whose functions must be called. It belongs to the goroutine that
	// reads, and then to the one that ends the connection.
	finished []*Stream
	latest   latest
	pause    func() <-chan struct{} // from the configuration, as read
	read     func()
	stop     context.CancelFunc
	over     chan struct{} // closed when nothing is called any more
}

// Dial opens a connection. The caller must close it, also after it was lost.
func Dial(ctx context.Context, config Config) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return dial(ctx, config, http2.UsualTiming())
}

func dial(ctx context.Context, config Config, timing http2.Timing) (*Conn, error) {
	nc, err := http2.Dial(ctx, config.Address, config.TLS)
	if err != nil {
		return nil, status.Error(codes.Unavailable, "connect: "+err.Error())
	}
	return serve(ctx, nc, config, timing)
}

// serve begins a connection over nc.
func serve(ctx context.Context, nc net.Conn, config Config, timing http2.Timing) (*Conn, error) {
	window := cmp.Or(config.Window, usualWindow)
	if window < 1 || window > http2.MaxWindow {
		return nil, errors.Join(fmt.Errorf("window must be 1 to %d bytes, got %d", http2.MaxWindow, window), nc.Close())
	}
	scheme := "http"
	if config.TLS != nil {
		scheme = "https"
	}
	c := &Conn{over: make(chan struct{}), pause: config.Pause, read: config.Read}
	if c.read == nil {
		c.read = func() {}
	}
	heads := http2.NewRequestHeads(scheme, config.Address, config.Metadata)
	c.link = http2.New(timing, heads, &c.streams)
	c.link.In.Usual = buffer.Largest
	c.streams = streams{
		conn: c, live: map[uint32]*Stream{}, nextID: 1,
		window: int64(window), maxMessage: cmp.Or(config.MaxMessage, usualMaxMessage),
	}
	read := func(nc net.Conn) (poller.Conn, error) { return poller.Apart(nc, (*incoming)(c)) }
	if err := c.link.Handshake(ctx, nc, uint32(window), read); err != nil {
		return nil, status.Error(codes.Unavailable, fmt.Sprintf("connect to %s: %v", config.Address, err))
	}
	ctx, c.stop = context.WithCancel(context.Background())
	go c.run(ctx)
	return c, nil
}

// run looks after the connection until it has ended.
func (c *Conn) run(ctx context.Context) {
	defer close(c.over)
	_ = c.link.Serve(ctx) // the streams have the error
	c.finish()
	c.link.Out.Wait()
}

// finish calls the functions of ended streams.
func (c *Conn) finish() {
	for i, s := range c.finished {
		if c.finished[i] = nil; !s.closed.Load() {
			s.ended(s.why)
		}
	}
	c.finished = c.finished[:0]
}

// Close closes the connection and ends its streams. Unwritten data is dropped. Close returns when
// their functions are no longer called, so they must not call it.
func (c *Conn) Close() {
	c.stop()
	<-c.over
}

// Stream sends and receives messages. It is safe for concurrent use.
type Stream struct {
	conn    *Conn
	method  string
	receive func(at time.Time, message []byte) error
	ended   func(error)

	closed atomic.Bool // by Close

	// The connection lock guards these.
	outgoing outgoing
	over     bool
	why      error // once over

	// These belong to the goroutine that reads.
	headed   bool // the server headers have arrived
	messages messages
	granted  int64 // bytes the server may still send
	taken    int64 // bytes since the last WINDOW_UPDATE
}

// errClosed ends a stream its user closes.
var errClosed = status.Error(codes.Canceled, "the stream is closed")

// Open opens a stream for a method, such as "/etcdserverpb.Watch/Watch". It does not wait.
//
// The goroutine that reads calls receive for each message and the time at which it was read. The
// message may be used until receive returns, or until Config.Read is called; an error ends the
// stream. Then, or later, ended is called once, unless [Stream.Close] was called before: with the
// error from receive, with [io.EOF] if the server has ended the stream without an error, or with
// one that package status reads. Both must not wait for anything but [Stream.Send], [Stream.Close]
// and Open.
func (c *Conn) Open(method string, receive func(at time.Time, message []byte) error, ended func(error)) (*Stream, error) {
	s := &Stream{
		conn: c, method: method, receive: receive, ended: ended,
		granted: c.streams.window, messages: messages{limit: c.streams.maxMessage},
	}
	err := c.locked(func() error {
		if c.link.Refuse != nil {
			return c.link.Refuse
		}
		if c.streams.nextID > http2.MaxWindow {
			return status.Error(codes.Unavailable, "the connection has no stream ids left")
		}
		c.streams.await(s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Send sends a message. It does not wait, and keeps no reference to it. It fails if the stream has
// ended, and while more than 16 MiB wait for the server to accept them. Messages from several
// goroutines are sent in the order of the calls, each in one piece.
func (s *Stream) Send(message []byte) error {
	return s.conn.locked(func() error {
		if s.over {
			return s.why
		}
		return s.conn.streams.send(s, message)
	})
}

// Close ends the stream. No call of receive or ended begins after it, but one may still be under
// way.
func (s *Stream) Close() {
	s.closed.Store(true)
	_ = s.conn.locked(func() error {
		if !s.over {
			s.conn.streams.end(s, http2.CodeCancel, errClosed)
			s.conn.streams.Refill()
		}
		return nil
	})
}

// locked calls a function with the connection lock, and then writes the appended bytes.
func (c *Conn) locked(do func() error) error {
	c.link.Mu.Lock()
	err := do()
	over := c.link.Over()
	write := c.link.Out.Claim()
	c.link.Mu.Unlock()
	if over != nil {
		c.link.Look()
	}
	if write {
		c.link.Out.Write(false)
	}
	return err
}
