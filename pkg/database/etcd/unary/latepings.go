package unary

import "github.com/coreos/dbtester/pkg/wire/poller"

// latePings has PINGs acknowledged with the next request: those by which servers of grpc-go measure
// their bandwidth. Such a server sends one before each answer, unless the last one was not
// acknowledged. The connection's lock guards it.
type latePings struct {
	on bool
	// socket can let the client sleep until so many bytes have come; nil if it can't.
	socket poller.LowWater
	wakeAt int
	// due is set from when a PING was acknowledged with a request until something arrives, or the client
	// looks after the connection. The next PING comes before the answer to that request.
	due bool
	// partial is set while a part of a frame has come.
	partial bool
}

// bandwidthPing is the payload of such a PING. Others, such as those that ask whether the client is
// alive, are acknowledged at once.
const bandwidthPing = "\x02\x04\x10\x10\x09\x0e\x07\x07"

// ping reports whether the acknowledgement of a PING may wait.
func (l *latePings) ping(payload []byte) bool {
	return l.on && string(payload) == bandwidthPing
}

// pingBytes is what comes before each answer: WINDOW_UPDATE of the connection, and the PING.
const pingBytes = frameHead + 4 + frameHead + 8

// rest has the client sleep through what comes before an answer, unless something else that is as
// short may come alone. A server may send no PING once it knows its bandwidth: then an answer is
// longer, but for a refusal of a few bytes, which is read at the latest when the client looks after the
// connection.
func (l *latePings) rest(s *streams) {
	if l.socket == nil {
		return
	}
	wakeAt := 1
	if l.due && !l.partial && len(s.waiting) == 0 && !s.answering() {
		wakeAt = pingBytes + 1
	}
	l.wake(wakeAt)
}

// rouse has any byte wake the client until another PING is acknowledged with a request: an answer to
// a keepalive ping is shorter than what the client sleeps through.
func (l *latePings) rouse() {
	l.due = false
	l.wake(1)
}

// wake has a number of bytes wake the client.
func (l *latePings) wake(bytes int) {
	if l.socket == nil || bytes == l.wakeAt {
		return
	}
	if l.wakeAt = bytes; l.socket.WakeAt(bytes) != nil {
		l.socket = nil // it is closed
	}
}

// answering reports whether a part of an answer has come.
func (s *streams) answering() bool {
	for k := range s.live.all() {
		if k.headed {
			return true
		}
	}
	return false
}
