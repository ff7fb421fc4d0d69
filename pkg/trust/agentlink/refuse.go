package agentlink

import (
	"bytes"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
)

// http2Preface begins HTTP/2 without TLS; it is as long as the hello with a token.
const http2Preface = "PRI * HTTP/2.0\r\n"

// recordHandshake is the first byte of TLS.
const recordHandshake = 0x16

// tlsAlert is a TLS record that ends a connection: "unexpected message".
var tlsAlert = []byte{0x15, 3, 3, 0, 2, 2, 10}

// sayNo sends the last bytes on the connection before it is closed, and lingers.
func sayNo(conn net.Conn, last []byte) {
	if _, err := conn.Write(last); err == nil {
		linger(conn)
	}
}

// linger keeps reading for a moment after the last bytes were sent: closing a connection with
// unread bytes resets it, and the other side would not receive the last bytes.
func linger(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = conn.SetReadDeadline(time.Now().Add(lingering))
		_, _ = io.CopyN(io.Discard, conn, mostLingering)
	}
}

const (
	// lingering and mostLingering limit the time in which a rejected caller may read the reason,
	// and the bytes that it may send meanwhile.
	lingering     = 5 * time.Second
	mostLingering = 64 << 10
)

// HTTP/2 frame types, and the lengths of the frame header and of the rest of the preface.
const (
	frameHeaders  = 1
	frameSettings = 4
	frameGoAway   = 7
	frameHead     = 9
	prefaceRest   = len("\r\nSM\r\n\r\n")
)

// answerPlaintext answers the first call of a plaintext gRPC caller, whose preface has begun, with
// an error, so that its user learns the reason. It keeps nothing of the call.
func answerPlaintext(conn net.Conn, reason string) {
	if _, err := conn.Write(frame(frameSettings, 0, 0, nil)); err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Now().Add(lingering))
	in := io.LimitReader(conn, mostLingering)
	if _, err := io.CopyN(io.Discard, in, int64(prefaceRest)); err != nil {
		return
	}
	for {
		var head [frameHead]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		length := binary.BigEndian.Uint32(head[:4]) >> 8
		if _, err := io.CopyN(io.Discard, in, int64(length)); err != nil {
			return
		}
		if head[3] == frameHeaders {
			sayNo(conn, refusal(binary.BigEndian.Uint32(head[5:]), reason))
			return
		}
	}
}

// refusal returns the complete response to a gRPC call: unauthenticated. The connection accepts no
// further call, so a caller's next call uses a new connection instead of being lost with this one.
func refusal(stream uint32, reason string) []byte {
	const endStream, endHeaders = 1, 4
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range []hpack.HeaderField{
		{Name: ":status", Value: "200"}, {Name: "content-type", Value: "application/grpc"},
		{Name: "grpc-status", Value: strconv.Itoa(int(codes.Unauthenticated))}, {Name: "grpc-message", Value: reason},
	} {
		_ = encoder.WriteField(field) // writing to a buffer cannot fail
	}
	const noError = 0
	last := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, stream), noError)
	return append(frame(frameGoAway, 0, 0, last), frame(frameHeaders, endStream|endHeaders, stream, block.Bytes())...)
}

// frame returns an HTTP/2 frame.
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	head = binary.BigEndian.AppendUint32(append(head, flags), stream)
	return append(head, payload...)
}

// begun is a connection whose first bytes were read.
type begun struct {
	net.Conn
	first []byte
	// held makes Close do nothing during a handshake.
	held bool
}

func (b *begun) Close() error {
	if b.held {
		return nil
	}
	return b.Conn.Close()
}

// Read returns the first bytes again before all others.
func (b *begun) Read(p []byte) (int, error) {
	if len(b.first) > 0 {
		n := copy(p, b.first)
		b.first = b.first[n:]
		return n, nil
	}
	return b.Conn.Read(p)
}

// refusals logs rejected connections, at most one line per second, so that a flood does not fill
// the log.
type refusals struct {
	log *slog.Logger

	mu     sync.Mutex
	last   time.Time
	silent int // since the last line
}

func (r *refusals) add(from, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.Sub(r.last) < time.Second {
		r.silent++
		return
	}
	r.last = now
	r.log.Warn("connection refused", "from", from, "reason", reason, "unreported", r.silent)
	r.silent = 0
}
