package stream

import (
	"fmt"
	"slices"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/database/etcd/http2"
)

// streams holds the streams of one connection, and the flow control of their data. The connection
// lock guards them.
type streams struct {
	conn       *Conn
	window     int64 // bytes the server may send on a stream
	maxMessage int

	live    map[uint32]*Stream // whose HEADERS were appended
	gone    atomic.Int64       // the number of ended streams
	waiting []*Stream          // that have more to append than the server accepts, oldest first
	nextID  uint32
}

var _ http2.Streams = (*streams)(nil)

// outgoing holds the data a stream has yet to send.
type outgoing struct {
	id     uint32 // 0 until its HEADERS were appended
	waits  bool   // among those that wait
	window int64  // bytes the server accepts
	rest   []byte // messages that were not appended in full
	gone   int    // bytes of rest appended
}

// mostWaiting bounds the waiting data on a stream, in bytes, and keepRest the memory it keeps.
const mostWaiting, keepRest = 16 << 20, 4 << 10

// Count implements [http2.Streams].
func (s *streams) Count() (open, waiting int) { return len(s.live), len(s.waiting) }

// await notes that a stream has HEADERS or messages to append as soon as flow control and the
// stream limit allow.
func (s *streams) await(one *Stream) {
	if !one.outgoing.waits {
		one.outgoing.waits = true
		s.waiting = append(s.waiting, one)
	}
	s.Refill()
}

// send appends a message, or as much of it as flow control allows.
func (s *streams) send(one *Stream, message []byte) error {
	o, link := &one.outgoing, s.conn.link
	whole := int64(http2.Prefix + len(message))
	if !o.waits && whole <= http2.MaxFrame && whole <= o.window && whole <= link.Flow.Window {
		link.Out.Reserve(http2.HeadSize + int(whole))
		s.appendData(o, int(whole))
		link.Out.Pending = append(http2.AppendPrefix(link.Out.Pending, len(message)), message...)
		return nil
	}
	if len(o.rest)-o.gone+int(whole) > mostWaiting {
		return status.Errorf(codes.ResourceExhausted, "at most %d bytes may wait for the server, a message of %d is too much", mostWaiting, len(message))
	}
	if o.gone > len(o.rest)/2 {
		o.rest, o.gone = append(o.rest[:0], o.rest[o.gone:]...), 0
	}
	o.rest = append(http2.AppendPrefix(o.rest, len(message)), message...)
	s.await(one)
	return nil
}

// appendData appends the head of a DATA frame, whose n bytes follow.
func (s *streams) appendData(o *outgoing, n int) {
	link := s.conn.link
	link.Out.Pending = http2.AppendHead(link.Out.Pending, n, http2.FrameData, 0, o.id)
	link.Flow.Window -= int64(n)
	o.window -= int64(n)
}

// Refill implements [http2.Streams].
func (s *streams) Refill() {
	s.waiting = slices.DeleteFunc(s.waiting, func(one *Stream) bool {
		one.outgoing.waits = !s.refill(one)
		return !one.outgoing.waits
	})
}

// refill appends waiting data on a stream, and reports whether that was all.
func (s *streams) refill(one *Stream) bool {
	const ahead = 4 * http2.MaxFrame
	o, link := &one.outgoing, s.conn.link
	if o.id == 0 {
		if int64(len(s.live)) >= link.Flow.Most || len(link.Out.Pending) > ahead {
			return false
		}
		o.id, o.window = s.nextID, link.Flow.Initial
		s.nextID += 2
		s.live[o.id] = one
		link.Out.Pending = link.Heads.AppendFrame(link.Out.Pending, o.id, one.method, false, 0)
	}
	for o.gone < len(o.rest) {
		n := int(min(int64(len(o.rest)-o.gone), o.window, link.Flow.Window, http2.MaxFrame))
		if n <= 0 || len(link.Out.Pending) > ahead {
			return false
		}
		s.appendData(o, n)
		link.Out.Pending = append(link.Out.Pending, o.rest[o.gone:o.gone+n]...)
		o.gone += n
	}
	if o.rest, o.gone = o.rest[:0], 0; cap(o.rest) > keepRest {
		o.rest = nil
	}
	return true
}

// end ends a stream, and sends RST_STREAM if the server knows it. Its functions are called by the
// goroutine that ends it.
func (s *streams) end(one *Stream, code uint32, why error) {
	if s.live[one.outgoing.id] == one {
		link := s.conn.link
		link.Out.Pending = http2.AppendReset(link.Out.Pending, one.outgoing.id, code)
	}
	s.forget(one, why)
}

// forget ends a stream the server has ended, or will never see.
func (s *streams) forget(one *Stream, why error) {
	delete(s.live, one.outgoing.id)
	s.gone.Add(1)
	if one.outgoing.waits {
		s.waiting = slices.DeleteFunc(s.waiting, func(other *Stream) bool { return other == one })
	}
	one.over, one.why, one.outgoing.rest = true, why, nil
}

// Fail implements [http2.Streams].
func (s *streams) Fail(reason error) {
	all := s.sorted()
	for _, one := range s.waiting {
		one.outgoing.waits = false
	}
	s.waiting = nil
	for _, one := range all {
		s.forget(one, reason)
		s.conn.finished = append(s.conn.finished, one)
	}
}

// sorted returns all streams, in the order in which they were opened.
func (s *streams) sorted() []*Stream {
	all := make([]*Stream, 0, len(s.live)+len(s.waiting))
	for _, one := range s.live {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b *Stream) int { return int(a.outgoing.id) - int(b.outgoing.id) })
	for _, one := range s.waiting {
		if one.outgoing.id == 0 {
			all = append(all, one)
		}
	}
	return all
}

// of returns the stream of a frame, nil if it has ended.
func (s *streams) of(f http2.Frame) (*Stream, error) {
	if f.Stream%2 == 0 || f.Stream >= s.nextID {
		return nil, fmt.Errorf("a frame of kind %d on stream %d, which was never opened", f.Kind, f.Stream)
	}
	return s.live[f.Stream], nil
}

// widen changes the windows of all streams.
func (s *streams) widen(by int64) {
	if by == 0 {
		return
	}
	for _, one := range s.live {
		one.outgoing.window += by
	}
}
