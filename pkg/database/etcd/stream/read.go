package stream

import (
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/database/etcd/http2"
	"github.com/coreos/dbtester/pkg/wire/poller"
)

// incoming receives the bytes that arrive on a connection.
type incoming Conn

var _ poller.Pauser = (*incoming)(nil)

// Room implements [poller.Reader].
func (c *incoming) Room() []byte { return c.link.In.Room() }

// Lost implements [poller.Reader].
func (c *incoming) Lost(err error) { c.link.Lost(err) }

// Pause implements [poller.Pauser].
func (c *incoming) Pause() <-chan struct{} {
	if c.pause == nil {
		return nil
	}
	return c.pause()
}

// Received implements [poller.Reader]: it handles the complete frames.
func (c *incoming) Received(n int) error {
	if n == 0 {
		c.link.In.Lend()
		return nil
	}
	at := time.Now()
	c.link.In.Add(n)
	c.link.Mu.Lock()
	c.link.Arrived()
	c.link.Mu.Unlock()
	err := c.consume(at)
	c.read()
	c.link.Mu.Lock()
	c.link.Took(c.latest.bytes)
	c.latest.bytes = 0
	c.streams.Refill()
	if err == nil {
		err = c.link.Over()
	}
	write := c.link.Out.Claim()
	c.link.Mu.Unlock()
	if write {
		c.link.Out.Write(false)
	}
	if err == nil {
		c.link.In.Compact()
	}
	(*Conn)(c).finish()
	return err
}

// consume handles all frames read at a time.
func (c *incoming) consume(at time.Time) error {
	for {
		f, ok, err := c.link.In.Next()
		switch {
		case !ok:
			return err
		case f.Kind == http2.FrameData:
			err = c.data(at, f)
		default:
			c.link.Mu.Lock()
			err = c.other(f)
			c.link.Mu.Unlock()
		}
		if err != nil {
			return err
		}
	}
}

// data passes the messages that end in DATA to their stream. The lock is not held meanwhile.
func (c *incoming) data(at time.Time, f http2.Frame) error {
	s, err := c.of(f)
	if err != nil {
		return err
	}
	data, err := f.Unpad()
	if err != nil || s == nil {
		return err
	}
	size := int64(len(f.Payload))
	code, err := s.take(at, data, size)
	switch {
	case err != nil:
	case f.Has(http2.FlagEndStream):
		code, err = http2.CodeProtocol, broken("the stream ends without trailers")
	default:
		c.renew(s, size)
		return nil
	}
	c.link.Mu.Lock()
	c.end(s, code, err)
	c.link.Mu.Unlock()
	return nil
}

// latest remembers the stream of the latest DATA frame, and the total size of its frames in a read,
// so that most frames need no lock. It belongs to the goroutine that reads.
type latest struct {
	id     uint32
	stream *Stream
	gone   int64 // streams.gone when it was found
	bytes  int64
}

// of returns the stream of a DATA frame, nil if it has ended.
func (c *incoming) of(f http2.Frame) (*Stream, error) {
	l := &c.latest
	l.bytes += int64(len(f.Payload))
	if l.id == f.Stream && l.gone == c.streams.gone.Load() {
		return l.stream, nil
	}
	c.link.Mu.Lock()
	defer c.link.Mu.Unlock()
	s, err := c.streams.of(f)
	if err == nil {
		l.id, l.stream, l.gone = f.Stream, s, c.streams.gone.Load()
	}
	return s, err
}

// broken returns the error for a stream that breaks the protocol.
func broken(format string, values ...any) error {
	return status.Errorf(codes.Internal, format, values...)
}

// take passes messages on. The data takes size bytes from the window. After an error the stream
// ends, and a code is sent to the server.
func (s *Stream) take(at time.Time, data []byte, size int64) (code uint32, err error) {
	if s.granted -= size; s.granted < 0 {
		return http2.CodeFlowControl, broken("the server sent %d bytes more than the stream's window", -s.granted)
	}
	if !s.headed {
		return http2.CodeProtocol, broken("a message without headers")
	}
	for {
		cut := s.messages.partial()
		message, rest, ok, err := s.messages.next(data)
		switch {
		case err != nil:
			return http2.CodeProtocol, broken("%v", err)
		case !ok || s.closed.Load():
			return 0, nil
		}
		if err := s.receive(at, message); err != nil {
			return http2.CodeCancel, err
		}
		if cut {
			s.conn.read() // the next part of the message uses the same memory
		}
		data = rest
	}
}

// renew lets the server send as much as was taken, once that is half a window.
func (c *incoming) renew(s *Stream, size int64) {
	if s.taken += size; 2*s.taken < c.streams.window {
		return
	}
	c.link.Mu.Lock()
	if !s.over {
		c.link.Out.Pending = http2.AppendWindowUpdate(c.link.Out.Pending, s.outgoing.id, uint32(s.taken))
	}
	c.link.Mu.Unlock()
	s.granted, s.taken = s.granted+s.taken, 0
}

// end ends a stream, unless it has ended. The connection is locked.
func (c *incoming) end(s *Stream, code uint32, why error) {
	if !s.over {
		c.streams.end(s, code, why)
		c.finished = append(c.finished, s)
	}
}

// forget ends a stream the server has ended. The connection is locked.
func (c *incoming) forget(s *Stream, why error) {
	c.streams.forget(s, why)
	c.finished = append(c.finished, s)
}

// other handles a frame without messages. The connection is locked.
func (c *incoming) other(f http2.Frame) error {
	initial := c.link.Flow.Initial
	if err := c.link.Control(f); err != nil {
		return err
	}
	switch f.Kind {
	case http2.FrameHeaders, http2.FrameContinuation:
		return c.headers(f)
	case http2.FrameReset:
		return c.reset(f)
	case http2.FrameSettings:
		c.streams.widen(c.link.Flow.Initial - initial)
	case http2.FrameGoAway:
		return c.goAway(f)
	case http2.FrameWindowUpdate:
		return c.windowUpdate(f)
	}
	return nil
}

// headers handles a header block once complete.
func (c *incoming) headers(f http2.Frame) error {
	if f.Kind == http2.FrameHeaders {
		if _, err := c.streams.of(f); err != nil {
			return err
		}
	}
	head, f, complete, err := c.link.In.Block(f)
	if !complete {
		return err
	}
	s := c.streams.live[f.Stream]
	switch {
	case s == nil:
	case f.Has(http2.FlagEndStream):
		c.end(s, http2.CodeNone, s.result(head))
	case s.headed:
		c.end(s, http2.CodeProtocol, broken("a second header block before the end of the stream"))
	case head.Interim():
		// The final one follows.
	case !head.OK():
		c.end(s, http2.CodeCancel, head.NotGRPC())
	default:
		s.headed = true
	}
	return nil
}

// result returns why the server has ended a stream, by its trailers.
func (s *Stream) result(trailers http2.ReplyHead) error {
	switch err := trailers.Result(); {
	case err != nil:
		return err
	case s.messages.partial():
		return broken("the stream ends within a message")
	}
	return io.EOF
}

func (c *incoming) reset(f http2.Frame) error {
	s, err := c.streams.of(f)
	if err != nil {
		return err
	}
	code, err := f.Code()
	if err != nil || s == nil {
		return err
	}
	c.forget(s, http2.ResetError(code))
	return nil
}

// goAway opens no more streams. Those that the server knows are served on.
func (c *incoming) goAway(f http2.Frame) error {
	last, why, err := f.GoAway()
	if err != nil {
		return err
	}
	if c.link.Refuse == nil {
		c.link.Refuse = why
	}
	for _, s := range c.streams.sorted() {
		if s.outgoing.id == 0 || s.outgoing.id > last {
			c.forget(s, why)
		}
	}
	return nil
}

// windowUpdate lets more bytes be sent on a stream.
func (c *incoming) windowUpdate(f http2.Frame) error {
	if f.Stream == 0 {
		return nil // for the connection
	}
	by, err := f.Increment()
	if err != nil {
		return err
	}
	s, err := c.streams.of(f)
	if err != nil || s == nil {
		return err
	}
	if s.outgoing.window += by; by == 0 || s.outgoing.window > http2.MaxWindow {
		c.end(s, http2.CodeFlowControl, broken("WINDOW_UPDATE grows a stream's window by %d to %d", by, s.outgoing.window))
	}
	return nil
}
