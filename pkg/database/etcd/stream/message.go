package stream

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/coreos/dbtester/pkg/database/etcd/http2"
)

// messages cuts the bytes of a stream into messages, wherever the server has cut them into frames.
type messages struct {
	limit int    // of a message, in bytes
	part  []byte // of an incomplete message and its prefix
	size  int    // of that message and its prefix, 0 while unknown
}

// believed bounds the memory allocated because of a length alone, and keepPart how much is kept for
// the next message, in bytes.
const believed, keepPart = 4 << 20, 64 << 10

// partial reports whether a message has come in part.
func (m *messages) partial() bool { return len(m.part) > 0 }

// next returns the first message that ends in data, and the rest of data. If no message ends there,
// it keeps the data. A message that lies wholly in data is part of it; else it is valid until the
// next call.
func (m *messages) next(data []byte) (message, rest []byte, ok bool, err error) {
	if len(m.part) == 0 {
		size, err := m.sizeOf(data)
		if err != nil {
			return nil, nil, false, err
		}
		if size > 0 && size <= len(data) {
			return data[http2.Prefix:size:size], data[size:], true, nil
		}
	}
	if m.size == 0 {
		n := min(http2.Prefix-len(m.part), len(data))
		m.part, data = append(m.part, data[:n]...), data[n:]
		if m.size, err = m.sizeOf(m.part); err != nil || m.size == 0 {
			return nil, nil, false, err
		}
		if want := min(m.size, believed); cap(m.part) < want {
			m.part = append(make([]byte, 0, want), m.part...)
		}
	}
	n := min(m.size-len(m.part), len(data))
	m.part = append(m.part, data[:n]...)
	if len(m.part) < m.size {
		return nil, nil, false, nil
	}
	message = m.part[http2.Prefix:]
	if m.part, m.size = m.part[:0], 0; cap(m.part) > keepPart {
		m.part = nil
	}
	return message, data[n:], true, nil
}

// sizeOf returns the size of the message that begins with b, prefix included, or 0 if b is too
// short.
func (m *messages) sizeOf(b []byte) (int, error) {
	if len(b) < http2.Prefix {
		return 0, nil
	}
	length := binary.BigEndian.Uint32(b[1:])
	switch {
	case b[0] != 0:
		return 0, errors.New("a message is compressed, which was not offered")
	case int64(length) > int64(m.limit):
		return 0, fmt.Errorf("a message must be at most %d bytes, got %d", m.limit, length)
	}
	return http2.Prefix + int(length), nil
}
