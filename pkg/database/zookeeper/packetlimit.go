package zookeeper

import "fmt"

// maxConnectAnswer bounds the answer to a connect request, in bytes.
const maxConnectAnswer = 1 << 10

// packetLimit checks the lengths in a stream of packets before go-zookeeper allocates
// that much: that of the packet, and that of the byte array which
// follows the header of an answer to get, and the session of an answer to connect.
// Other answers have other numbers there, which are far below any limit (a znode's
// transaction id, whose upper half is an epoch).
type packetLimit struct {
	max       int // bytes of a packet after the first
	connected bool
	length    int // of the packet that is read
	have      int // bytes of it, with its length field
	head      [lengthField + headerSize + lengthField]byte
}

// check takes the next bytes of the stream.
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
			p.have, p.connected = 0, true
		}
	}
	return nil
}

// headSize is how many bytes of the packet are checked.
func (p *packetLimit) headSize() int {
	if p.have < lengthField {
		return lengthField
	}
	return min(len(p.head), lengthField+p.length)
}

// verify checks a length that has just come whole.
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
		if length := int(lengthOf(p.head[lengthField+headerSize:])); length > limit {
			return fmt.Errorf("%w: it announces a value of %d bytes, the most is %d", errMalformed, length, limit)
		}
	}
	return nil
}
