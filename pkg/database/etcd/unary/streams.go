package unary

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/database/etcd/http2"
)

// streams are the calls on one connection, and the flow control of their requests. The connection
// lock guards them, except ended.
type streams struct {
	out     *http2.Writer
	heads   *http2.RequestHeads
	flow    *http2.Flow
	live    liveCalls // calls whose HEADERS were appended
	waiting []*call   // calls whose request was not appended in full, oldest first
	nextID  uint32
	// ended are calls whose callers must be woken. It belongs to the goroutine that
	// reads.
	ended []*call
}

var _ http2.Streams = (*streams)(nil)

// Count implements [http2.Streams].
func (s *streams) Count() (open, waiting int) { return s.live.count, len(s.waiting) }

// add appends the request of a call, or as much of it as flow control and the stream limit allow.
func (s *streams) add(k *call, m *Message) {
	size := m.size()
	whole := int64(http2.Prefix + size)
	k.id, k.reply.limit, k.reply.each = s.nextID, m.MaxReply, m.Each
	s.nextID += 2
	if len(s.waiting) == 0 && int64(s.live.count) < s.flow.Most &&
		whole <= http2.MaxFrame && whole <= s.flow.Window && whole <= s.flow.Initial {
		const heads = 128 // for the usual header block and both frames
		s.out.Reserve(heads + int(whole))
		s.open(k)
		s.flow.Window -= whole
		s.out.Pending = http2.AppendHead(s.out.Pending, int(whole), http2.FrameData, http2.FlagEndStream, k.id)
		s.out.Pending = m.appendTo(s.out.Pending, size)
		k.end = s.out.End()
		return
	}
	k.delay()
	k.rest = m.appendTo(k.rest[:0], size)
	s.waiting = append(s.waiting, k)
	s.Refill()
}

// open appends the HEADERS of a call. The connection must be locked.
func (s *streams) open(k *call) {
	left := k.left
	bounded := left > 0 || !k.deadline.IsZero()
	if bounded && left <= 0 {
		left = time.Until(k.deadline)
	}
	s.out.Pending = s.heads.AppendFrame(s.out.Pending, k.id, k.path, bounded, left)
	s.live.add(k)
	k.open, k.window = true, s.flow.Initial
}

// Refill implements [http2.Streams]: it appends the requests of waiting calls, in their order, as
// far as flow control and the stream limit allow, and at most a few frames ahead of the writer.
func (s *streams) Refill() {
	const ahead = 4 * http2.MaxFrame
	sent := false
	for _, k := range s.waiting {
		if !k.open {
			if int64(s.live.count) >= s.flow.Most || len(s.out.Pending) > ahead {
				break // streams are opened in order, so the calls behind it wait too
			}
			s.open(k)
		}
		for k.gone < len(k.rest) && s.flow.Window > 0 && k.window > 0 && len(s.out.Pending) <= ahead {
			n := int(min(int64(len(k.rest)-k.gone), s.flow.Window, k.window, http2.MaxFrame))
			flags := byte(0)
			if k.gone+n == len(k.rest) {
				flags = http2.FlagEndStream
			}
			s.out.Pending = http2.AppendHead(s.out.Pending, n, http2.FrameData, flags, k.id)
			s.out.Pending = append(s.out.Pending, k.rest[k.gone:k.gone+n]...)
			s.flow.Window -= int64(n)
			k.window -= int64(n)
			k.gone += n
		}
		if k.gone == len(k.rest) {
			k.end = s.out.End()
			sent = true
		}
	}
	if sent {
		s.waiting = slices.DeleteFunc(s.waiting, func(k *call) bool { return k.end != 0 })
	}
}

// drop removes a call, and sends RST_STREAM if its stream is open. The connection is
// locked.
func (s *streams) drop(k *call) {
	if k.end == 0 {
		s.waiting = slices.DeleteFunc(s.waiting, func(other *call) bool { return other == k })
	}
	if k.open {
		s.live.remove(k.id)
		s.out.Pending = http2.AppendReset(s.out.Pending, k.id, http2.CodeCancel)
	}
}

// conclude ends a call. Only the goroutine that reads calls it, with the lock; that
// goroutine wakes the caller later.
func (s *streams) conclude(k *call, unsent bool, err error) {
	if k.end == 0 {
		s.drop(k) // the rest of the request is not needed
	} else {
		s.live.remove(k.id)
	}
	k.over, k.unsent, k.err = true, unsent, err
	s.ended = append(s.ended, k)
}

// wake wakes the callers whose calls have ended. Fibers continue here, up to their next wait.
func (s *streams) wake() {
	for i, k := range s.ended {
		s.ended[i] = nil
		if k.fiber != nil {
			k.fiber.Continue()
		} else {
			k.ended <- struct{}{}
		}
	}
	s.ended = s.ended[:0]
}

// wakesFibers reports whether wake has a fiber to continue.
func (s *streams) wakesFibers() bool {
	return slices.ContainsFunc(s.ended, func(k *call) bool { return k.fiber != nil })
}

// callOf returns the call of a frame, nil if it has ended.
func (s *streams) callOf(f http2.Frame) (*call, error) {
	if f.Stream%2 == 0 || f.Stream >= s.nextID {
		return nil, fmt.Errorf("a frame of kind %d on stream %d, which was never opened", f.Kind, f.Stream)
	}
	return s.live.of(f.Stream), nil
}

// protocolError ends a call whose reply breaks the protocol.
func (s *streams) protocolError(k *call, err error) {
	if k.end != 0 { // else conclude sends RST_STREAM
		s.out.Pending = http2.AppendReset(s.out.Pending, k.id, http2.CodeProtocol)
	}
	s.conclude(k, false, status.Error(codes.Internal, status.Convert(err).Message()))
}

// trailers ends a call with the result in its trailers.
func (s *streams) trailers(k *call, head http2.ReplyHead) {
	err := head.Result()
	if err == nil {
		if _, bad := k.reply.message(); bad != nil {
			err = status.Error(codes.Internal, bad.Error())
		}
	}
	s.conclude(k, false, err)
}

// reset ends a call the server has reset.
func (s *streams) reset(f http2.Frame) error {
	k, err := s.callOf(f)
	if err != nil {
		return err
	}
	code, err := f.Code()
	if err != nil || k == nil {
		return err
	}
	k.canceled = code == http2.CodeCancel
	s.conclude(k, code == http2.CodeRefused, http2.ResetError(code))
	return nil
}

// widen changes the windows of all streams.
func (s *streams) widen(by int64) {
	for _, k := range s.waiting {
		k.window += by // open sets the windows of the others
	}
}

// windowUpdate lets more bytes of a request be sent.
func (s *streams) windowUpdate(f http2.Frame) error {
	if f.Stream == 0 {
		return nil // for the connection
	}
	by, err := f.Increment()
	if err != nil {
		return err
	}
	k, err := s.callOf(f)
	if err != nil || k == nil {
		return err
	}
	if k.window += by; by == 0 || k.window > http2.MaxWindow {
		s.protocolError(k, fmt.Errorf("WINDOW_UPDATE grows a stream's window by %d to %d", by, k.window))
	}
	return nil
}

// widenReply lets the server send on after n bytes of a reply, which a stream may need more than
// once.
func (s *streams) widenReply(k *call, n int) {
	if k.credit += int64(n); k.credit >= http2.MaxWindow/2 {
		s.out.Pending = http2.AppendWindowUpdate(s.out.Pending, k.id, uint32(k.credit))
		k.credit = 0
	}
}

// answering reports whether an answer has come in part.
func (s *streams) answering() bool {
	for k := range s.live.all() {
		if k.headed {
			return true
		}
	}
	return false
}

// Fail implements [http2.Streams]: it ends every remaining call.
func (s *streams) Fail(reason error) {
	for k := range s.live.all() {
		s.conclude(k, k.end == 0 || k.end > s.out.Reached(), reason)
	}
	for len(s.waiting) > 0 {
		s.conclude(s.waiting[0], true, reason)
	}
}
