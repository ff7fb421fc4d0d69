package unary

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coreos/dbtester/pkg/database/etcd/http2"
)

// Message is a protobuf message in pieces, so that a request whose bulk is one or
// two fields is encoded without a copy of its own. A nil or empty piece is not
// there.
type Message struct {
	// The fields with the numbers 1 and 2, of type bytes. Field 1 is Before followed by One.
	Before   string
	One, Two []byte
	// Rest is the encoding of all other fields.
	Rest []byte
	// MaxReply is the largest reply that is taken, in bytes; 0 is 1 GiB.
	MaxReply int
}

// size is the length of the encoded message.
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

// appendTo appends the message, which has that size, with its prefix.
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

// reply is a message on its way in, prefix included.
type reply struct {
	body []byte
	size int // of the whole, -1 while it is unknown
	// limit bounds the message, in bytes; 0 is maxReply.
	limit int
}

// maxReply bounds a message whose caller gives no bound, in bytes.
const maxReply = 1 << 30

// most is how much memory a length alone is believed.
const most = 4 << 20

func (r *reply) add(data []byte) error {
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

// message returns the message once all of it has come.
func (r *reply) message() ([]byte, error) {
	if r.size < 0 || len(r.body) != r.size {
		return nil, fmt.Errorf("the reply ends after %d bytes", len(r.body))
	}
	return r.body[http2.Prefix:], nil
}
