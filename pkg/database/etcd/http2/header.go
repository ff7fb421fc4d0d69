package http2

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Field is one item of metadata. The name must be in lower case.
type Field struct{ Name, Value string }

// RequestHeads encodes request headers. All fields but grpc-timeout enter the HPACK dynamic table,
// so later requests for the same path take a few bytes.
type RequestHeads struct {
	common  []hpack.HeaderField
	encoder *hpack.Encoder
	out     bytes.Buffer
	known   []knownHead // valid until the table changes
	indexed map[hpack.HeaderField]bool
	room    uint32        // in the table, for more fields
	left    time.Duration // as timeout has it
	timeout []byte        // the last field grpc-timeout
}

// knownHead is the header block for a path.
type knownHead struct {
	path  string
	block []byte
}

// usualTable is the default size of the dynamic table, in bytes as HPACK counts them.
const usualTable = 4096

// NewRequestHeads returns an encoder for the requests on one connection. Metadata is sent with
// each.
func NewRequestHeads(scheme, authority string, metadata []Field) *RequestHeads {
	h := &RequestHeads{indexed: map[hpack.HeaderField]bool{}, room: usualTable, common: []hpack.HeaderField{
		{Name: ":scheme", Value: scheme},
		{Name: ":authority", Value: authority},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
		{Name: "user-agent", Value: "dbtester"},
	}}
	for _, f := range metadata {
		h.common = append(h.common, hpack.HeaderField{Name: f.Name, Value: f.Value})
	}
	h.encoder = hpack.NewEncoder(&h.out)
	return h
}

// AppendFrame appends the HEADERS of a request for path. If the request has a deadline, bounded is
// set and left is the time until then, which may have passed. Frames must be sent in the order in
// which they were appended.
func (h *RequestHeads) AppendFrame(b []byte, stream uint32, path string, bounded bool, left time.Duration) []byte {
	at := len(b)
	b = AppendHead(b, 0, FrameHeaders, FlagEndHeaders, stream)
	b = h.appendTo(b, path)
	if bounded {
		b = h.appendTimeout(b, left)
	}
	length := len(b) - at - HeadSize
	b[at+1], b[at+2] = byte(length>>8), byte(length)
	return b
}

// appendTo appends the header block of a request for path. Blocks must be sent in the order in
// which they were appended.
func (h *RequestHeads) appendTo(b []byte, path string) []byte {
	for i := range h.known { // a load uses few paths
		if k := &h.known[i]; k.path == path {
			return append(b, k.block...)
		}
	}
	at := len(b)
	b = append(b, h.encode(path)...)
	block := bytes.Clone(h.encode(path))
	if !bytes.Equal(block, b[at:]) { // new fields have moved all other indexes
		h.known = h.known[:0]
	}
	h.known = append(h.known, knownHead{path, block})
	return b
}

func (h *RequestHeads) encode(path string) []byte {
	h.out.Reset()
	h.write(hpack.HeaderField{Name: ":method", Value: http.MethodPost})
	h.write(hpack.HeaderField{Name: ":path", Value: path})
	for _, f := range h.common {
		h.write(f)
	}
	return h.out.Bytes()
}

// write encodes a field. A field that would evict others does not enter the table.
func (h *RequestHeads) write(f hpack.HeaderField) {
	if !h.indexed[f] {
		if f.Size() <= h.room {
			h.room -= f.Size()
			h.indexed[f] = true
		} else {
			f.Sensitive = true
		}
	}
	_ = h.encoder.WriteField(f) // to a buffer, which can't fail
}

// limit applies the limit that the peer sets for the table. A table smaller than the default is not
// used: fields that evict each other would make kept blocks wrong.
func (h *RequestHeads) limit(size uint32) {
	if size < usualTable {
		h.encoder.SetMaxDynamicTableSizeLimit(0)
		h.known = h.known[:0]
	}
}

// ReplyHead holds the header fields that decide the result of a call.
type ReplyHead struct {
	http    string // :status, "" if absent
	grpc    string // grpc-status, "" if absent
	message string // grpc-message as it came
}

// ReplyHeads decodes header blocks.
type ReplyHeads struct {
	decoder *hpack.Decoder
	head    ReplyHead
	// known are blocks that consist of table indexes only. They have one meaning until another
	// block changes the table, and a server sends the same few with every reply.
	known []knownBlock
}

type knownBlock struct {
	block string
	head  ReplyHead
}

// mostKnown bounds the blocks kept: usual replies have one at their start and one at their end.
const mostKnown = 4

// maxHeads bounds a header block and each field in it, in bytes.
const maxHeads = 64 << 10

func newReplyHeads() *ReplyHeads {
	h := &ReplyHeads{}
	h.decoder = hpack.NewDecoder(usualTable, func(f hpack.HeaderField) {
		switch f.Name {
		case ":status":
			h.head.http = f.Value
		case "grpc-status":
			h.head.grpc = f.Value
		case "grpc-message":
			h.head.message = f.Value
		}
	})
	h.decoder.SetMaxStringLength(maxHeads)
	return h
}

// decode decodes a complete block. Every block must be decoded, in order. After an
// error the connection must be closed.
func (h *ReplyHeads) decode(block []byte) (ReplyHead, error) {
	for i := range h.known {
		if k := &h.known[i]; k.block == string(block) {
			return k.head, nil
		}
	}
	h.head = ReplyHead{}
	if _, err := h.decoder.Write(block); err != nil {
		return ReplyHead{}, fmt.Errorf("header fields: %w", err)
	}
	if err := h.decoder.Close(); err != nil {
		return ReplyHead{}, fmt.Errorf("header fields: %w", err)
	}
	switch {
	case !indexed(block):
		h.known = h.known[:0]
	case len(h.known) < mostKnown:
		h.known = append(h.known, knownBlock{string(block), h.head})
	}
	return h.head, nil
}

// indexed reports whether every field in a block is one byte: a table index (RFC 7541, section
// 6.1). No such field changes the table.
func indexed(block []byte) bool {
	const index, longer = 0x80, 0xff
	for _, b := range block {
		if b&index == 0 || b == longer {
			return false
		}
	}
	return true
}

// OK reports whether the headers begin a gRPC answer.
func (h ReplyHead) OK() bool { return h.http == "200" }

// Interim reports whether other headers follow.
func (h ReplyHead) Interim() bool { return len(h.http) == 3 && h.http[0] == '1' }

// Result returns the error of a call from its trailers, nil for success.
func (h ReplyHead) Result() error {
	switch {
	case h.grpc == "0":
		return nil
	case h.grpc == "":
		return h.NotGRPC()
	}
	code, err := strconv.ParseUint(h.grpc, 10, 32)
	if err != nil {
		return status.Errorf(codes.Internal, "grpc-status must be a number, got %q", h.grpc)
	}
	message, err := url.PathUnescape(h.message)
	if err != nil {
		message = h.message // gRPC: a message that is not encoded well is used as it is
	}
	return status.Error(codes.Code(code), message)
}

// NotGRPC returns the error for an HTTP response without a gRPC status, by the mapping in the gRPC
// specification.
func (h ReplyHead) NotGRPC() error {
	code := codes.Unknown
	switch h.http {
	case "400":
		code = codes.Internal
	case "401":
		code = codes.Unauthenticated
	case "403":
		code = codes.PermissionDenied
	case "404":
		code = codes.Unimplemented
	case "429", "502", "503", "504":
		code = codes.Unavailable
	}
	return status.Errorf(code, "the response has no gRPC status (HTTP status %q)", h.http)
}

// appendTimeout appends the header field grpc-timeout: the time left until the call deadline. Many
// requests in a row have the same value.
func (h *RequestHeads) appendTimeout(b []byte, left time.Duration) []byte {
	if left != h.left || h.timeout == nil {
		h.left, h.timeout = left, encodeTimeout(h.timeout[:0], left)
	}
	return append(b, h.timeout...)
}

// encodeTimeout appends the field. It does not enter the dynamic table, because calls by goroutines
// have another value each time.
func encodeTimeout(b []byte, left time.Duration) []byte {
	const literalNewName, name = 0x00, "grpc-timeout"
	b = append(append(b, literalNewName, byte(len(name))), name...)
	at := len(b)
	b = appendGRPCDuration(append(b, 0), left)
	b[at] = byte(len(b) - at - 1)
	return b
}

// appendGRPCDuration appends a duration as gRPC writes it: up to 8 digits in the
// finest unit that fits, rounded up. A duration that is not positive is "0n".
func appendGRPCDuration(b []byte, d time.Duration) []byte {
	const most = 99_999_999
	if d <= 0 {
		return append(b, "0n"...)
	}
	for _, u := range [...]struct {
		unit time.Duration
		name byte
	}{
		{time.Nanosecond, 'n'}, {time.Microsecond, 'u'}, {time.Millisecond, 'm'}, {time.Second, 'S'}, {time.Minute, 'M'},
	} {
		if n := (int64(d) + int64(u.unit) - 1) / int64(u.unit); n <= most && n > 0 {
			return append(strconv.AppendInt(b, n, 10), u.name)
		}
	}
	return append(strconv.AppendInt(b, int64(d/time.Hour)+1, 10), 'H')
}
