package http2

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The frames of HTTP/2 (RFC 9113, section 6), their flags and sizes.
const (
	FrameData         = 0x0
	FrameHeaders      = 0x1
	FramePriority     = 0x2
	FrameReset        = 0x3
	FrameSettings     = 0x4
	FramePushPromise  = 0x5
	FramePing         = 0x6
	FrameGoAway       = 0x7
	FrameWindowUpdate = 0x8
	FrameContinuation = 0x9

	FlagEndStream  = 0x1
	FlagAck        = 0x1
	FlagEndHeaders = 0x4
	FlagPadded     = 0x8
	FlagPriority   = 0x20

	// HeadSize is the size of a frame without its payload.
	HeadSize = 9
	// MaxFrame is the largest payload in both directions: the least a peer may set, and the initial
	// setting.
	MaxFrame = 16384
	// MaxWindow bounds every window, and stream ids.
	MaxWindow = 1<<31 - 1
	// FirstWindow is the initial size of every window in bytes.
	FirstWindow = 65535
)

// The settings read or sent.
const (
	settingHeaderTable   = 0x1
	settingPush          = 0x2
	settingStreams       = 0x3
	settingInitialWindow = 0x4
	settingMaxFrame      = 0x5
)

// Frame is read from a connection; its payload lies in the buffer it was read into.
type Frame struct {
	Kind, Flags byte
	Stream      uint32
	Payload     []byte
}

// Has reports whether a flag is set.
func (f Frame) Has(flag byte) bool { return f.Flags&flag != 0 }

// nextFrame returns the first frame of b and its size, 0 if it is incomplete.
func nextFrame(b []byte) (f Frame, size int, err error) {
	if len(b) < HeadSize {
		return Frame{}, 0, nil
	}
	length := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
	if length > MaxFrame {
		return Frame{}, 0, fmt.Errorf("a frame of %d bytes, more than %d", length, MaxFrame)
	}
	size = HeadSize + length
	if len(b) < size {
		return Frame{}, 0, nil
	}
	return Frame{
		Kind: b[3], Flags: b[4],
		Stream:  binary.BigEndian.Uint32(b[5:]) & MaxWindow,
		Payload: b[HeadSize:size:size],
	}, size, nil
}

// Unpad returns the payload without padding and priority.
func (f Frame) Unpad() ([]byte, error) {
	p := f.Payload
	if f.Has(FlagPadded) {
		if len(p) == 0 || int(p[0]) >= len(p) {
			return nil, fmt.Errorf("padding longer than the frame")
		}
		p = p[1 : len(p)-int(p[0])]
	}
	if f.Kind == FrameHeaders && f.Has(FlagPriority) {
		if len(p) < 5 {
			return nil, fmt.Errorf("a priority of %d bytes", len(p))
		}
		p = p[5:]
	}
	return p, nil
}

// Code returns the code by which RST_STREAM ends a stream.
func (f Frame) Code() (uint32, error) {
	if len(f.Payload) != 4 {
		return 0, fmt.Errorf("RST_STREAM of %d bytes", len(f.Payload))
	}
	return binary.BigEndian.Uint32(f.Payload), nil
}

// Increment returns the number of bytes by which WINDOW_UPDATE grows a window.
func (f Frame) Increment() (int64, error) {
	if len(f.Payload) != 4 {
		return 0, fmt.Errorf("WINDOW_UPDATE of %d bytes", len(f.Payload))
	}
	return int64(binary.BigEndian.Uint32(f.Payload) & MaxWindow), nil
}

// GoAway returns the last stream the server processes, and the reason it gives as an error.
func (f Frame) GoAway() (last uint32, why, err error) {
	if f.Stream != 0 || len(f.Payload) < 8 {
		return 0, nil, fmt.Errorf("GOAWAY of %d bytes on stream %d", len(f.Payload), f.Stream)
	}
	code := codeName(binary.BigEndian.Uint32(f.Payload[4:]))
	why = status.Errorf(codes.Unavailable, "the server sent GOAWAY: %s %.200q", code, f.Payload[8:])
	return binary.BigEndian.Uint32(f.Payload) & MaxWindow, why, nil
}

// AppendHead appends the head of a frame, whose payload follows.
func AppendHead(b []byte, length int, kind, flags byte, stream uint32) []byte {
	b = append(b, byte(length>>16), byte(length>>8), byte(length), kind, flags)
	return binary.BigEndian.AppendUint32(b, stream)
}

// AppendReset appends RST_STREAM.
func AppendReset(b []byte, stream, code uint32) []byte {
	return binary.BigEndian.AppendUint32(AppendHead(b, 4, FrameReset, 0, stream), code)
}

// AppendWindowUpdate appends WINDOW_UPDATE, for the connection if stream is 0.
func AppendWindowUpdate(b []byte, stream, increment uint32) []byte {
	return binary.BigEndian.AppendUint32(AppendHead(b, 4, FrameWindowUpdate, 0, stream), increment)
}

// preface returns the first bytes of a connection. The server may send window bytes on each stream
// before the window is renewed. The connection window is as large as possible, because arriving
// bytes are read at once.
func preface(window uint32) []byte {
	b := []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	settings := []struct {
		id    uint16
		value uint32
	}{{settingPush, 0}, {settingInitialWindow, window}}
	b = AppendHead(b, 6*len(settings), FrameSettings, 0, 0)
	for _, s := range settings {
		b = binary.BigEndian.AppendUint16(b, s.id)
		b = binary.BigEndian.AppendUint32(b, s.value)
	}
	return AppendWindowUpdate(b, 0, MaxWindow-FirstWindow)
}

// Prefix is the size of the head of a gRPC message: one byte for compression and 4 for the length.
const Prefix = 5

// AppendPrefix appends the head of a gRPC message of size bytes.
func AppendPrefix(b []byte, size int) []byte {
	return binary.BigEndian.AppendUint32(append(b, 0), uint32(size))
}

// The codes by which a stream or a connection ends.
const (
	CodeNone        = 0x0
	CodeProtocol    = 0x1
	CodeFlowControl = 0x3
	CodeRefused     = 0x7
	CodeCancel      = 0x8
	CodeCalm        = 0xb
	CodeNotSecure   = 0xc
)

// ResetError returns the error for a stream the server has reset.
func ResetError(code uint32) error {
	kind := codes.Internal
	switch code {
	case CodeRefused:
		kind = codes.Unavailable
	case CodeCancel:
		kind = codes.Canceled
	case CodeCalm:
		kind = codes.ResourceExhausted
	case CodeNotSecure:
		kind = codes.PermissionDenied
	}
	return status.Errorf(kind, "the server sent RST_STREAM: %s", codeName(code))
}

// codeName returns a code as RFC 9113 names it.
func codeName(code uint32) string {
	names := [...]string{
		"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR",
		"REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
	}
	if code < uint32(len(names)) {
		return names[code]
	}
	return fmt.Sprintf("code %#x", code)
}
