package unary

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// requestHeads encodes the header fields of requests, a few bytes for each after
// the first of its path: all fields are then in the table that both sides keep.
type requestHeads struct {
	common  []hpack.HeaderField
	encoder *hpack.Encoder
	out     bytes.Buffer
	known   map[string][]byte // by path, valid until the table changes
	indexed map[hpack.HeaderField]bool
	room    uint32 // in the table, for more fields
}

// usualTable is the size of the table that every peer keeps unless it says
// otherwise, in bytes as HPACK counts them.
const usualTable = 4096

func newRequestHeads(scheme, authority string, metadata []Field) *requestHeads {
	h := &requestHeads{known: map[string][]byte{}, indexed: map[hpack.HeaderField]bool{}, room: usualTable, common: []hpack.HeaderField{
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

// appendTo appends the block of a request for path. Blocks must be sent in the
// order in which they were appended.
func (h *requestHeads) appendTo(b []byte, path string) []byte {
	if block, ok := h.known[path]; ok {
		return append(b, block...)
	}
	at := len(b)
	b = append(b, h.encode(path)...)
	block := bytes.Clone(h.encode(path))
	if !bytes.Equal(block, b[at:]) { // fields that were new have moved all others
		clear(h.known)
	}
	h.known[path] = block
	return b
}

func (h *requestHeads) encode(path string) []byte {
	h.out.Reset()
	h.write(hpack.HeaderField{Name: ":method", Value: http.MethodPost})
	h.write(hpack.HeaderField{Name: ":path", Value: path})
	for _, f := range h.common {
		h.write(f)
	}
	return h.out.Bytes()
}

// write encodes a field. One that would push others out of the table stays out of
// it, so that what is in it stays.
func (h *requestHeads) write(f hpack.HeaderField) {
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

// limit obeys the peer's limit of the table: a table smaller than usual is not
// used at all, since blocks that push each other out can't be kept.
func (h *requestHeads) limit(size uint32) {
	if size < usualTable {
		h.encoder.SetMaxDynamicTableSizeLimit(0)
		clear(h.known)
	}
}

// replyHead are the header fields of a reply that matter here.
type replyHead struct {
	http    string // :status, "" if there is none
	grpc    string // grpc-status, "" if there is none
	message string // grpc-message as it came
}

// replyHeads decodes header blocks.
type replyHeads struct {
	decoder *hpack.Decoder
	head    replyHead
}

// maxHeads bounds a header block and each field of it, in bytes.
const maxHeads = 64 << 10

func newReplyHeads() *replyHeads {
	h := &replyHeads{}
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

// decode returns the fields of a whole block. Every block must be decoded, in
// order; after an error the connection is of no more use.
func (h *replyHeads) decode(block []byte) (replyHead, error) {
	h.head = replyHead{}
	if _, err := h.decoder.Write(block); err != nil {
		return replyHead{}, fmt.Errorf("header fields: %w", err)
	}
	if err := h.decoder.Close(); err != nil {
		return replyHead{}, fmt.Errorf("header fields: %w", err)
	}
	return h.head, nil
}

// result returns what the fields at the end of a call say, nil for success.
func (h replyHead) result() error {
	switch {
	case h.grpc == "0":
		return nil
	case h.grpc == "":
		return h.notGRPC()
	}
	code, err := strconv.ParseUint(h.grpc, 10, 32)
	if err != nil {
		return status.Errorf(codes.Internal, "the server's status %q is no number", h.grpc)
	}
	message, err := url.PathUnescape(h.message)
	if err != nil {
		message = h.message // as gRPC asks for: better than nothing
	}
	return status.Error(codes.Code(code), message)
}

// notGRPC is the error for an answer that is HTTP and no more, by gRPC's own
// mapping.
func (h replyHead) notGRPC() error {
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
	return status.Errorf(code, "the server answers without a gRPC status (HTTP status %q)", h.http)
}
