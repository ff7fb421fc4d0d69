package http2

import "github.com/coreos/dbtester/pkg/wire/poller"

// LatePings delays acknowledgements until the next request, for the PINGs by which grpc-go servers
// measure their bandwidth. Such a server sends a PING before each answer, unless the last one was
// not acknowledged. The connection lock guards it.
type LatePings struct {
	On bool
	// socket can let the client sleep until enough bytes have come; nil if it can't.
	socket poller.LowWater
	wakeAt int
	// due is set from when a PING was acknowledged in a request until something arrives, or the
	// client looks after the connection. The next PING comes before the answer to that request.
	due bool
	// partial is set while a frame has come in part.
	partial bool
}

// BandwidthPing is the payload of such a PING. Others, such as those that ask whether the client is
// alive, are acknowledged at once.
const BandwidthPing = "\x02\x04\x10\x10\x09\x0e\x07\x07"

// ping reports whether the acknowledgement of a PING may wait.
func (l *LatePings) ping(payload []byte) bool {
	return l.On && string(payload) == BandwidthPing
}

// PingBytes is the size in bytes of the frames before each answer: WINDOW_UPDATE for the
// connection, and the PING.
const PingBytes = HeadSize + 4 + HeadSize + 8

// Arrived is called after the frames of a read were handled; partial means that a frame has come in
// part.
func (l *LatePings) Arrived(partial bool) { l.due, l.partial = false, partial }

// MayRest reports whether a PING comes next, unless the user of the connection knows better.
func (l *LatePings) MayRest() bool { return l.socket != nil && l.due && !l.partial }

// Rest makes the client sleep through the frames before an answer, or if it may not, until any
// byte arrives. It may, unless something else as short may come alone. A server may send no PING
// once it knows its bandwidth: then an answer is longer, except a short refusal, which is read at
// the latest when the client checks the connection.
func (l *LatePings) Rest(may bool) {
	wakeAt := 1
	if may {
		wakeAt = PingBytes + 1
	}
	l.wake(wakeAt)
}

// rouse makes any byte wake the client until another PING is acknowledged in a request: an answer
// to a keepalive ping is shorter than the bytes the client sleeps through.
func (l *LatePings) rouse() {
	l.due = false
	l.wake(1)
}

// wake makes that many bytes wake the client.
func (l *LatePings) wake(bytes int) {
	if l.socket == nil || bytes == l.wakeAt {
		return
	}
	if l.wakeAt = bytes; l.socket.WakeAt(bytes) != nil {
		l.socket = nil // it is closed
	}
}

// WakeAt returns the number of bytes that wakes the client, and whether it can sleep at all.
func (l *LatePings) WakeAt() (bytes int, can bool) { return l.wakeAt, l.socket != nil }
