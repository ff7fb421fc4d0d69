package http2

import (
	"errors"
	"fmt"

	"github.com/coreos/dbtester/pkg/wire/buffer"
)

// Reader cuts the bytes that arrive on a connection into frames. It belongs to the goroutine that
// reads, and has no memory while no partial frame is left.
type Reader struct {
	// Usual is the size of a read in bytes, unless a frame is larger.
	Usual int

	buf       []byte         // nil while nothing is being read
	memory    *buffer.Buffer // of buf, which was borrowed
	have      int            // bytes in buf
	at        int            // bytes of buf taken as frames
	heads     *ReplyHeads
	settled   bool   // the server settings have arrived
	block     []byte // a header block without its end, with its first frame
	first     Frame
	continues bool
}

// Room returns where the next bytes go, as [poller.Reader] asks.
func (r *Reader) Room() []byte {
	if r.buf == nil {
		r.borrow(r.Usual)
	}
	return r.buf[r.have:]
}

// Add adds n bytes read into Room.
func (r *Reader) Add(n int) { r.have += n }

// borrow gives the reader a buffer of at least n bytes with the same content.
func (r *Reader) borrow(n int) {
	old := r.memory
	r.memory = buffer.Borrow(n)
	b := r.memory.Bytes[:cap(r.memory.Bytes)]
	copy(b, r.buf[:r.have])
	r.buf = b
	old.GiveBack()
}

// Lend lets others use the buffer while there is nothing in it.
func (r *Reader) Lend() {
	if r.have == 0 {
		r.memory.GiveBack()
		r.memory, r.buf = nil, nil
	}
}

// Next takes the next frame, if it is complete. Its payload is valid until [Reader.Compact]. After
// an error the connection must be closed.
func (r *Reader) Next() (f Frame, ok bool, err error) {
	f, size, err := nextFrame(r.buf[r.at:r.have])
	switch {
	case err != nil || size == 0:
		return Frame{}, false, err
	case !r.settled && f.Kind != FrameSettings:
		return Frame{}, false, fmt.Errorf("the first frame must be SETTINGS, got kind %d", f.Kind)
	case r.continues && f.Kind != FrameContinuation:
		return Frame{}, false, fmt.Errorf("a frame of kind %d interrupts a header block", f.Kind)
	}
	r.at += size
	return f, true, nil
}

// Partial reports whether a partial frame is left.
func (r *Reader) Partial() bool { return r.at < r.have }

// Compact drops the frames taken, and makes room for one that does not fit.
func (r *Reader) Compact() {
	r.have, r.at = copy(r.buf, r.buf[r.at:r.have]), 0
	if r.have == len(r.buf) {
		r.borrow(HeadSize + MaxFrame)
	}
	r.Lend()
}

// Block takes HEADERS or CONTINUATION. Once a header block is complete, it returns its fields, and
// its first frame without payload. After an error the connection must be closed.
func (r *Reader) Block(f Frame) (head ReplyHead, first Frame, complete bool, err error) {
	var block []byte
	if f.Kind == FrameHeaders {
		if block, err = f.Unpad(); err != nil {
			return ReplyHead{}, Frame{}, false, err
		}
		f.Payload = nil // its buffer is reused
		if !f.Has(FlagEndHeaders) {
			r.first, r.continues = f, true
			r.block = append(r.block[:0], block...)
			return ReplyHead{}, Frame{}, false, nil
		}
		r.first = f
	} else {
		if complete, err = r.extend(f); !complete {
			return ReplyHead{}, Frame{}, false, err
		}
		block = r.block
	}
	head, err = r.heads.decode(block)
	return head, r.first, err == nil, err
}

// extend adds CONTINUATION to a header block, and reports whether the block is complete.
func (r *Reader) extend(f Frame) (complete bool, err error) {
	switch {
	case !r.continues || f.Stream != r.first.Stream:
		return false, errors.New("CONTINUATION without a header block")
	case len(r.block)+len(f.Payload) > maxHeads || len(f.Payload) == 0 && !f.Has(FlagEndHeaders):
		return false, fmt.Errorf("a header block of more than %d bytes, or an empty CONTINUATION", maxHeads)
	}
	r.block = append(r.block, f.Payload...)
	r.continues = !f.Has(FlagEndHeaders)
	return !r.continues, nil
}
