package unary

import (
	"encoding/binary"
	"fmt"
)

// The frames of HTTP/2 (RFC 9113, section 6), their flags and sizes.
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	framePriority     = 0x2
	frameReset        = 0x3
	frameSettings     = 0x4
	framePushPromise  = 0x5
	framePing         = 0x6
	frameGoAway       = 0x7
	frameWindowUpdate = 0x8
	frameContinuation = 0x9

	flagEndStream  = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20

	frameHead = 9
	// maxFrame is the largest payload in both directions: the least that a peer may
	// set, and the initial value of the setting.
	maxFrame = 16384
	// maxWindow bounds every window, and stream ids.
	maxWindow = 1<<31 - 1
	// firstWindow is the initial size of every window in bytes.
	firstWindow = 65535
)

// The settings that are read or sent.
const (
	settingHeaderTable   = 0x1
	settingPush          = 0x2
	settingStreams       = 0x3
	settingInitialWindow = 0x4
	settingMaxFrame      = 0x5
)

// frame is one frame; its payload is part of the buffer it was read into.
type frame struct {
	kind, flags byte
	stream      uint32
	payload     []byte
}

func (f frame) has(flag byte) bool { return f.flags&flag != 0 }

// nextFrame returns the first frame of b and how many bytes it takes, 0 if it is
// not there in whole.
func nextFrame(b []byte) (f frame, size int, err error) {
	if len(b) < frameHead {
		return frame{}, 0, nil
	}
	length := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
	if length > maxFrame {
		return frame{}, 0, fmt.Errorf("a frame of %d bytes, more than %d", length, maxFrame)
	}
	size = frameHead + length
	if len(b) < size {
		return frame{}, 0, nil
	}
	return frame{
		kind: b[3], flags: b[4],
		stream:  binary.BigEndian.Uint32(b[5:]) & maxWindow,
		payload: b[frameHead:size:size],
	}, size, nil
}

// unpad returns the payload without padding and priority.
func (f frame) unpad() ([]byte, error) {
	p := f.payload
	if f.has(flagPadded) {
		if len(p) == 0 || int(p[0]) >= len(p) {
			return nil, fmt.Errorf("padding longer than the frame")
		}
		p = p[1 : len(p)-int(p[0])]
	}
	if f.kind == frameHeaders && f.has(flagPriority) {
		if len(p) < 5 {
			return nil, fmt.Errorf("a priority of %d bytes", len(p))
		}
		p = p[5:]
	}
	return p, nil
}

func appendHead(b []byte, length int, kind, flags byte, stream uint32) []byte {
	b = append(b, byte(length>>16), byte(length>>8), byte(length), kind, flags)
	return binary.BigEndian.AppendUint32(b, stream)
}

func appendReset(b []byte, stream, code uint32) []byte {
	return binary.BigEndian.AppendUint32(appendHead(b, 4, frameReset, 0, stream), code)
}

func appendWindowUpdate(b []byte, stream, increment uint32) []byte {
	return binary.BigEndian.AppendUint32(appendHead(b, 4, frameWindowUpdate, 0, stream), increment)
}

// preface returns the first bytes of a connection. Its SETTINGS make the windows as
// large as possible, because replies are read at once.
func preface() []byte {
	b := []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	settings := []struct {
		id    uint16
		value uint32
	}{{settingPush, 0}, {settingInitialWindow, maxWindow}}
	b = appendHead(b, 6*len(settings), frameSettings, 0, 0)
	for _, s := range settings {
		b = binary.BigEndian.AppendUint16(b, s.id)
		b = binary.BigEndian.AppendUint32(b, s.value)
	}
	return appendWindowUpdate(b, 0, maxWindow-firstWindow)
}

// The codes with which a stream or a connection ends.
const (
	codeProtocol  = 0x1
	codeRefused   = 0x7
	codeCancel    = 0x8
	codeCalm      = 0xb
	codeNotSecure = 0xc
)

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
