package zookeeper

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"sync/atomic"

	"github.com/coreos/dbtester/pkg/database"
)

var _ database.Mirror = (*Options)(nil)

// ServeMirror implements [database.Mirror].
func (o *Options) ServeMirror(ctx context.Context, l net.Listener, hold func()) error {
	return ServeMirror(ctx, l, hold)
}

// mirror grants sessions and answers create, setData, getData, sync, ping and close.
// Requests in a session are answered in order.
type mirror struct {
	values   database.MirrorValues
	sessions atomic.Int64
	zxid     atomic.Int64
	hold     func()
}

// ServeMirror serves a mirror for clients that speak the ZooKeeper protocol; see [database.Mirror].
// All parents exist.
func ServeMirror(ctx context.Context, l net.Listener, hold func()) error {
	m := &mirror{hold: hold}
	if err := database.ServeConns(ctx, l, func(conn net.Conn) error { return m.serve(conn) }); err != nil {
		return fmt.Errorf("serve the mirror of ZooKeeper: %w", err)
	}
	return nil
}

// serve grants a session and answers its requests until it is closed.
func (m *mirror) serve(conn io.ReadWriter) error {
	in := bufio.NewReader(conn)
	request, err := readPacket(in, nil)
	if err != nil {
		return err
	}
	const timeoutAt = 4 + 8 // after the version and the last zxid
	if len(request) < timeoutAt+4 {
		return fmt.Errorf("%w: a connect request of %d bytes", errMalformed, len(request))
	}
	out := appendInt(appendInt(packet(nil), 0), lengthOf(request[timeoutAt:]))
	out = appendBytes(appendLong(out, m.sessions.Add(1)), make([]byte, passwdSize))
	out = sealed(append(out, 0)) // not read-only
	for {
		if _, err := conn.Write(out); err != nil {
			return err
		}
		if request, err = readPacket(in, request); err != nil {
			return err
		}
		if out, err = m.answer(request, out); err != nil {
			return err
		}
	}
}

// mirrorPacket bounds a request in bytes. Clients have their own tighter limits, which are unknown
// here.
const mirrorPacket = 64 << 20

// readPacket reads a packet without its length into a buffer.
func readPacket(in *bufio.Reader, into []byte) ([]byte, error) {
	var length [lengthField]byte
	if _, err := io.ReadFull(in, length[:]); err != nil {
		return nil, err
	}
	n := int(lengthOf(length[:]))
	if n < 0 || n > mirrorPacket {
		return nil, fmt.Errorf("%w: a request may have at most %d bytes, got %d", errMalformed, mirrorPacket, n)
	}
	if cap(into) < n {
		into = make([]byte, n)
	}
	into = into[:n]
	_, err := io.ReadFull(in, into)
	return into, err
}

// Answer codes.
const (
	codeDone          = 0
	codeUnimplemented = -6
	codeNoNode        = -101
	codeNodeExists    = -110
)

// answer returns the packet that answers a request, in the buffer out.
func (m *mirror) answer(request, out []byte) ([]byte, error) {
	if len(request) < 8 {
		return nil, fmt.Errorf("%w: a request of %d bytes", errMalformed, len(request))
	}
	xid, op, body := lengthOf(request), lengthOf(request[4:]), request[8:]
	begin := func(code int32) []byte {
		return appendInt(appendLong(appendInt(packet(out), xid), m.zxid.Add(1)), code)
	}
	switch op {
	case opPing, opClose:
		return sealed(begin(codeDone)), nil
	case opCreate, opSetData, opGetData, opSync:
	default:
		return sealed(begin(codeUnimplemented)), nil
	}
	path, body, ok := cutBytes(body)
	if !ok {
		return nil, fmt.Errorf("%w: a request without a path", errMalformed)
	}
	value, exists := m.values.Get(string(path))
	switch {
	case op == opSync:
		return sealed(appendBytes(begin(codeDone), path)), nil
	case op == opGetData && isMarker(path):
		return sealed(append(appendBytes(begin(codeDone), ""), make([]byte, statSize)...)), nil
	case op == opCreate && exists:
		return sealed(begin(codeNodeExists)), nil
	case op != opCreate && !exists:
		return sealed(begin(codeNoNode)), nil
	case op == opGetData:
		m.hold()
		return sealed(append(appendBytes(begin(codeDone), value), make([]byte, statSize)...)), nil
	}
	if value, _, ok = cutBytes(body); !ok {
		return nil, fmt.Errorf("%w: a write without a value", errMalformed)
	}
	m.hold()
	m.values.Put(string(path), append([]byte{}, value...))
	if op == opCreate {
		return sealed(appendBytes(begin(codeDone), path)), nil
	}
	return sealed(append(begin(codeDone), make([]byte, statSize)...)), nil
}

// isMarker reports whether a path is the marker for some number of parents.
func isMarker(path []byte) bool { return bytes.HasPrefix(path, []byte(markerPrefix)) }

// cutBytes cuts a length and that many bytes from a buffer.
func cutBytes(b []byte) (text, rest []byte, ok bool) {
	if len(b) < lengthField {
		return nil, nil, false
	}
	n := int(lengthOf(b))
	if b = b[lengthField:]; n < 0 || n > len(b) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}
