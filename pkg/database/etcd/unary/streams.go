package unary

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// streams are the calls of one connection and the flow control of their requests.
// The connection's lock guards them, except ended.
type streams struct {
	out     *writer
	heads   *requestHeads
	live    liveCalls // calls whose HEADERS were appended
	waiting []*call   // calls whose request was not appended in full, oldest first
	nextID  uint32
	most    int64 // streams that the server accepts at a time
	window  int64 // bytes that the server accepts on the connection
	initial int64 // bytes that it accepts on a new stream
	// ended are calls whose callers must be woken. It belongs to the goroutine that
	// reads.
	ended []*call
}

// none reports whether no call is left.
func (s *streams) none() bool { return s.live.count == 0 && len(s.waiting) == 0 }

// add appends the request of a call, or as much of it as flow control and the limit
// of streams allow.
func (s *streams) add(k *call, m *Message) {
	size := m.size()
	whole := int64(prefix + size)
	k.id, k.reply.limit = s.nextID, m.MaxReply
	s.nextID += 2
	if len(s.waiting) == 0 && int64(s.live.count) < s.most &&
		whole <= maxFrame && whole <= s.window && whole <= s.initial {
		const heads = 128 // of the usual header block and both frames
		s.out.reserve(heads + int(whole))
		s.open(k)
		s.window -= whole
		s.out.pending = appendHead(s.out.pending, int(whole), frameData, flagEndStream, k.id)
		s.out.pending = m.appendTo(s.out.pending, size)
		k.end = s.out.end()
		return
	}
	k.delay()
	k.rest = m.appendTo(k.rest[:0], size)
	s.waiting = append(s.waiting, k)
	s.pump()
}

// open appends the HEADERS of a call. The connection must be locked.
func (s *streams) open(k *call) {
	b := s.out.pending
	at := len(b)
	b = appendHead(b, 0, frameHeaders, flagEndHeaders, k.id)
	b = s.heads.appendTo(b, k.path)
	switch {
	case k.left > 0:
		b = s.heads.appendTimeout(b, k.left)
	case !k.deadline.IsZero():
		b = s.heads.appendTimeout(b, time.Until(k.deadline))
	}
	length := len(b) - at - frameHead
	b[at+1], b[at+2] = byte(length>>8), byte(length)
	s.out.pending = b
	s.live.add(k)
	k.open, k.window = true, s.initial
}

// pump appends the requests of waiting calls, in their order, as far as flow control
// and the limit of streams allow, and at most a few frames ahead of the writer.
// The connection must be locked.
func (s *streams) pump() {
	const ahead = 4 * maxFrame
	sent := false
	for _, k := range s.waiting {
		if !k.open {
			if int64(s.live.count) >= s.most || len(s.out.pending) > ahead {
				break // streams are opened in order, so the calls behind it wait too
			}
			s.open(k)
		}
		for k.gone < len(k.rest) && s.window > 0 && k.window > 0 && len(s.out.pending) <= ahead {
			n := int(min(int64(len(k.rest)-k.gone), s.window, k.window, maxFrame))
			flags := byte(0)
			if k.gone+n == len(k.rest) {
				flags = flagEndStream
			}
			s.out.pending = appendHead(s.out.pending, n, frameData, flags, k.id)
			s.out.pending = append(s.out.pending, k.rest[k.gone:k.gone+n]...)
			s.window -= int64(n)
			k.window -= int64(n)
			k.gone += n
		}
		if k.gone == len(k.rest) {
			k.end = s.out.end()
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
		s.out.pending = appendReset(s.out.pending, k.id, codeCancel)
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

// wake wakes the callers of the calls that have ended. Fibers go on here, up to their next
// wait.
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
func (s *streams) callOf(f frame) (*call, error) {
	if f.stream%2 == 0 || f.stream >= s.nextID {
		return nil, fmt.Errorf("a frame of kind %d on stream %d, which was never opened", f.kind, f.stream)
	}
	return s.live.of(f.stream), nil
}

// protocolError ends a call whose reply breaks the protocol.
func (s *streams) protocolError(k *call, err error) {
	if k.end != 0 { // else conclude sends RST_STREAM
		s.out.pending = appendReset(s.out.pending, k.id, codeProtocol)
	}
	s.conclude(k, false, status.Error(codes.Internal, err.Error()))
}

// trailers ends a call with the result in its trailers.
func (s *streams) trailers(k *call, head replyHead) {
	err := head.result()
	if err == nil {
		if _, bad := k.reply.message(); bad != nil {
			err = status.Error(codes.Internal, bad.Error())
		}
	}
	s.conclude(k, false, err)
}

// reset ends a call that the server has reset.
func (s *streams) reset(f frame) error {
	k, err := s.callOf(f)
	switch {
	case err != nil:
		return err
	case len(f.payload) != 4:
		return fmt.Errorf("RST_STREAM of %d bytes", len(f.payload))
	case k == nil:
		return nil
	}
	code := binary.BigEndian.Uint32(f.payload)
	kind := codes.Internal
	switch code {
	case codeRefused:
		kind = codes.Unavailable
	case codeCancel:
		kind, k.canceled = codes.Canceled, true
	case codeCalm:
		kind = codes.ResourceExhausted
	case codeNotSecure:
		kind = codes.PermissionDenied
	}
	s.conclude(k, code == codeRefused, status.Errorf(kind, "the server sent RST_STREAM: %s", codeName(code)))
	return nil
}

// set applies one setting of the server.
func (s *streams) set(id uint16, value uint32) error {
	switch id {
	case settingHeaderTable:
		s.heads.limit(value)
	case settingStreams:
		s.most = int64(value)
	case settingInitialWindow:
		if value > maxWindow {
			return fmt.Errorf("an initial window of %d bytes", value)
		}
		change := int64(value) - s.initial
		s.initial = int64(value)
		for _, k := range s.waiting {
			k.window += change // open sets the window of the others
		}
	case settingMaxFrame:
		if value < maxFrame || value >= 1<<24 {
			return fmt.Errorf("a largest frame of %d bytes", value)
		}
	}
	return nil
}

// windowUpdate lets more bytes of requests be sent, on the connection or on one stream.
func (s *streams) windowUpdate(f frame) error {
	if len(f.payload) != 4 {
		return fmt.Errorf("WINDOW_UPDATE of %d bytes", len(f.payload))
	}
	by := int64(binary.BigEndian.Uint32(f.payload) & maxWindow)
	if f.stream == 0 {
		if s.window += by; by == 0 || s.window > maxWindow {
			return fmt.Errorf("WINDOW_UPDATE grows the connection's window by %d to %d", by, s.window)
		}
		return nil
	}
	k, err := s.callOf(f)
	if err != nil || k == nil {
		return err
	}
	if k.window += by; by == 0 || k.window > maxWindow {
		s.protocolError(k, fmt.Errorf("WINDOW_UPDATE grows a stream's window by %d to %d", by, k.window))
	}
	return nil
}
