package unary

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coreos/dbtester/pkg/database/etcd/http2"
)

// Message splits a protobuf message into pieces, so that a request whose bulk is one or two
// fields is encoded without copying it first. A nil or empty piece is omitted.
type Message struct {
	// The fields 1 and 2, of type bytes. Field 1 is Before followed by One.
	Before   string
	One, Two []byte
	// Rest is the encoding of all other fields.
	Rest []byte
	// MaxReply is the largest reply message that is taken, in bytes; 0 means 1 GiB.
	MaxReply int
	// Each is nil, unless the reply is a stream: it then takes each message, which it does not keep.
	// The connection waits for it. Its error ends the call.
	Each func(message []byte) error
}

// size returns the length of the encoded message.
func (m *Message) size() int {
	n := len(m.Rest)
	if one := len(m.Before) + len(m.One); one > 0 {
		n += 1 + protowire.SizeBytes(one)
	}
	if len(m.Two) > 0 {
		n += 1 + protowire.SizeBytes(len(m.Two))
	}
	return n
}

// appendTo appends the message, which has that size, after its prefix.
func (m *Message) appendTo(b []byte, size int) []byte {
	b = http2.AppendPrefix(b, size)
	if one := len(m.Before) + len(m.One); one > 0 {
		b = protowire.AppendVarint(append(b, 1<<3|byte(protowire.BytesType)), uint64(one))
		b = append(append(b, m.Before...), m.One...)
	}
	if len(m.Two) > 0 {
		b = protowire.AppendBytes(append(b, 2<<3|byte(protowire.BytesType)), m.Two)
	}
	return append(b, m.Rest...)
}

// reply is an arriving message, prefix included.
type reply struct {
	each func([]byte) error // for a stream; nil for one message
	body []byte
	size int // of the whole message, -1 while unknown
	// limit bounds the message, in bytes; 0 means maxReply.
	limit int
}

// maxReply bounds a message whose caller gives no bound, in bytes.
const maxReply = 1 << 30

// most bounds the memory allocated because of a length alone.
const most = 4 << 20

// add adds the next bytes of a reply. It passes on each complete message of a stream.
func (r *reply) add(data []byte) error {
	if r.each == nil {
		return r.addOne(data)
	}
	for len(data) > 0 {
		lacks := http2.Prefix - len(r.body)
		if r.size >= 0 {
			lacks = r.size - len(r.body)
		}
		n := min(lacks, len(data))
		if err := r.addOne(data[:n]); err != nil {
			return err
		}
		data = data[n:]
		if len(r.body) != r.size {
			continue
		}
		if err := r.each(r.body[http2.Prefix:]); err != nil {
			return err
		}
		r.body, r.size = r.body[:0], -1
	}
	return nil
}

// addOne adds to one message.
func (r *reply) addOne(data []byte) error {
	r.body = append(r.body, data...)
	if r.size < 0 && len(r.body) >= http2.Prefix {
		length := binary.BigEndian.Uint32(r.body[1:])
		switch {
		case r.body[0] != 0:
			return fmt.Errorf("the reply is compressed, which was not offered")
		case int64(length) > int64(cmp.Or(r.limit, maxReply)):
			return fmt.Errorf("a reply must be at most %d bytes, got %d", cmp.Or(r.limit, maxReply), length)
		}
		r.size = http2.Prefix + int(length)
		if want := min(r.size, most); cap(r.body) < want {
			r.body = append(make([]byte, 0, want), r.body...)
		}
	}
	if r.size >= 0 && len(r.body) > r.size {
		return fmt.Errorf("%d bytes follow the reply", len(r.body)-r.size)
	}
	return nil
}

// message returns the message once it is complete; nothing for a stream, which ends between two
// messages.
func (r *reply) message() ([]byte, error) {
	if r.each != nil && len(r.body) == 0 {
		return nil, nil
	}
	if r.size < 0 || len(r.body) != r.size {
		return nil, fmt.Errorf("the reply ends after %d bytes", len(r.body))
	}
	return r.body[http2.Prefix:], nil
}
