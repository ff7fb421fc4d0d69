package zookeeper

import (
	"encoding/binary"
	"fmt"
	"sync"
)

// maxConnectAnswer bounds the answer to a connect request, in bytes.
const maxConnectAnswer = 1 << 10

// packetLimit checks the lengths in a packet stream before go-zookeeper allocates that much memory:
// the packet length, and the length of the byte array after the header in an answer to get, or
// after the session in an answer to connect. Other answers have other numbers there, which are far
// below any limit (a transaction id, whose upper half is an epoch).
//
// A session timeout that is not positive makes go-zookeeper panic.
//
// Length -1 means an empty value, or belongs to an answer to multi. In a list go-zookeeper would
// read it as 4,294,967,295 elements, so an answer to a request for a list must not have it.
type packetLimit struct {
	max       int // bytes in a packet after the first
	lists     listRequests
	connected bool
	length    int // of the current packet
	have      int // bytes of it received so far, with its length field
	head      [lengthField + headerSize + lengthField]byte
}

// check checks the next bytes in the stream.
func (p *packetLimit) check(b []byte) error {
	for len(b) > 0 {
		var n int
		if want := p.headSize(); p.have < want {
			n = copy(p.head[p.have:want], b)
		} else {
			n = min(lengthField+p.length-p.have, len(b))
		}
		p.have += n
		b = b[n:]
		if err := p.verify(); err != nil {
			return err
		}
		if p.have >= lengthField && p.have == lengthField+p.length {
			p.lists.answered(p.xid())
			p.have, p.connected = 0, true
		}
	}
	return nil
}

// headSize returns the number of packet bytes that need a check.
func (p *packetLimit) headSize() int {
	if p.have < lengthField {
		return lengthField
	}
	return min(len(p.head), lengthField+p.length)
}

// verify checks a length that has just become complete.
func (p *packetLimit) verify() error {
	limit := p.max
	if !p.connected {
		limit = maxConnectAnswer
	}
	switch p.have {
	case lengthField:
		length := int64(uint32(lengthOf(p.head[:])))
		if length < headerSize || length > int64(limit) {
			return fmt.Errorf("%w: it announces %d bytes, want from %d to %d", errMalformed, length, headerSize, limit)
		}
		p.length = int(length)
	case len(p.head):
		if !p.connected {
			if _, err := parseConnectAnswer(p.head[lengthField:]); err != nil {
				return err
			}
		}
		length := int(lengthOf(p.head[lengthField+headerSize:]))
		if length > limit {
			return fmt.Errorf("%w: it announces a value of %d bytes, the most is %d", errMalformed, length, limit)
		}
		if length < -1 || length < 0 && p.lists.waits(p.xid()) {
			return fmt.Errorf("%w: it announces a length of %d", errMalformed, length)
		}
	}
	return nil
}

// xid returns the number of the request the packet answers, once its header has arrived.
func (p *packetLimit) xid() int32 { return lengthOf(p.head[lengthField:]) }

// listRequests are the unanswered requests for a list. The writer of a connection adds them, and
// its reader removes them.
type listRequests struct {
	mu   sync.Mutex
	xids map[int32]bool
}

// sent records a packet to the server.
func (l *listRequests) sent(packet []byte) {
	if len(packet) < lengthField+8 {
		return
	}
	switch xid, op := lengthOf(packet[lengthField:]), binary.BigEndian.Uint32(packet[lengthField+4:]); op {
	case opGetACL, opGetChildren, opGetChildren2:
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.xids == nil {
			l.xids = map[int32]bool{}
		}
		l.xids[xid] = true
	}
}

// waits reports whether a request is an unanswered request for a list.
func (l *listRequests) waits(xid int32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.xids[xid]
}

// answered records that an answer has ended.
func (l *listRequests) answered(xid int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.xids, xid)
}
