package unary

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/wire/buffer"
)

// usualRead is what is read at once, in bytes, unless a frame is larger.
const usualRead = 4 << 10

// Room implements [poller.Reader].
func (c *conn) Room() []byte {
	if c.in.buf == nil {
		c.in.borrow(usualRead)
	}
	return c.in.buf[c.in.have:]
}

// Received implements [poller.Reader]: it handles the frames that are complete.
func (c *conn) Received(n int) error {
	if n == 0 {
		c.in.lend()
		return nil
	}
	c.in.have += n
	return c.consume()
}

// Lost implements [poller.Reader].
func (c *conn) Lost(err error) { c.lost <- err }

// borrow has the reader have a buffer of at least n bytes, with the same content.
func (in *reader) borrow(n int) {
	old := in.memory
	in.memory = buffer.Borrow(n)
	b := in.memory.Bytes[:cap(in.memory.Bytes)]
	copy(b, in.buf[:in.have])
	in.buf = b
	old.GiveBack()
}

// lend lets others use the buffer while there is nothing in it.
func (in *reader) lend() {
	if in.have == 0 {
		in.memory.GiveBack()
		in.memory, in.buf = nil, nil
	}
}

// consume handles every complete frame, and then wakes the callers whose calls have
// ended.
func (c *conn) consume() error {
	at := 0
	c.mu.Lock()
	c.in.alive = true
	var err error
	for err == nil {
		f, size, bad := nextFrame(c.in.buf[at:c.in.have])
		if err = bad; err != nil || size == 0 {
			break
		}
		err = c.handle(f)
		at += size
	}
	if len(c.streams.waiting) > 0 {
		c.streams.pump()
	}
	c.pings.due, c.pings.partial = false, at < c.in.have
	c.pings.rest(&c.streams)
	if err == nil && c.in.settled && c.drained() {
		err = errDrained
	}
	fibers := c.streams.wakesFibers()
	c.out.held = fibers
	write := c.out.claim()
	c.mu.Unlock()
	woken := len(c.streams.ended)
	c.streams.wake()
	if fibers { // they have appended their next requests
		c.mu.Lock()
		c.out.held, woken = false, 0
		write = c.out.claim()
		c.mu.Unlock()
	}
	if write {
		c.out.write(woken > 0) // woken callers may append another request
	}
	if err == nil {
		c.in.compact(at)
	}
	return err
}

// compact drops the first at bytes, and makes room for a frame that does not fit.
func (in *reader) compact(at int) {
	in.have = copy(in.buf, in.buf[at:in.have])
	if in.have == len(in.buf) {
		in.borrow(frameHead + maxFrame)
	}
	in.lend()
}

// handle handles one frame. An error ends the connection. The connection is locked.
func (c *conn) handle(f frame) error {
	if !c.in.settled && f.kind != frameSettings {
		return fmt.Errorf("the first frame must be SETTINGS, got kind %d", f.kind)
	}
	if c.in.continues && f.kind != frameContinuation {
		return fmt.Errorf("a frame of kind %d interrupts a header block", f.kind)
	}
	switch f.kind {
	case frameData:
		return c.handleData(f)
	case frameHeaders:
		return c.handleHeaders(f)
	case frameContinuation:
		return c.handleContinuation(f)
	case frameReset:
		return c.streams.reset(f)
	case frameSettings:
		return c.handleSettings(f)
	case framePing:
		return c.handlePing(f)
	case frameGoAway:
		return c.handleGoAway(f)
	case frameWindowUpdate:
		return c.streams.windowUpdate(f)
	case framePushPromise:
		return errors.New("the server sent PUSH_PROMISE, which the settings forbid")
	}
	return nil // RFC 9113: unknown frames are ignored
}

func (c *conn) handleData(f frame) error {
	k, err := c.streams.callOf(f)
	if err != nil {
		return err
	}
	data, err := f.unpad()
	if err != nil {
		return err
	}
	// Updates come after 1 GiB each, so they are rare.
	if c.in.credit += int64(len(f.payload)); c.in.credit >= maxWindow/2 {
		c.out.pending = appendWindowUpdate(c.out.pending, 0, uint32(c.in.credit))
		c.in.credit = 0
	}
	if k == nil {
		return nil
	}
	err = k.reply.add(data)
	switch {
	case !k.headed:
		err = errors.New("a reply without headers")
	case err == nil && f.has(flagEndStream):
		err = errors.New("a reply without trailers")
	}
	if err != nil {
		c.streams.protocolError(k, err)
	}
	return nil
}

func (c *conn) handleHeaders(f frame) error {
	if _, err := c.streams.callOf(f); err != nil {
		return err
	}
	block, err := f.unpad()
	if err != nil {
		return err
	}
	if f.has(flagEndHeaders) {
		return c.handleBlock(f, block)
	}
	c.in.first, c.in.continues = f, true
	c.in.first.payload = nil // its buffer is reused
	c.in.block = append(c.in.block[:0], block...)
	return nil
}

func (c *conn) handleContinuation(f frame) error {
	switch {
	case !c.in.continues || f.stream != c.in.first.stream:
		return errors.New("CONTINUATION without a header block")
	case len(c.in.block)+len(f.payload) > maxHeads || len(f.payload) == 0 && !f.has(flagEndHeaders):
		return fmt.Errorf("a header block of more than %d bytes, or an empty CONTINUATION", maxHeads)
	}
	c.in.block = append(c.in.block, f.payload...)
	if !f.has(flagEndHeaders) {
		return nil
	}
	c.in.continues = false
	return c.handleBlock(c.in.first, c.in.block)
}

// handleBlock handles a complete header block, given its first frame.
func (c *conn) handleBlock(f frame, block []byte) error {
	head, err := c.in.heads.decode(block)
	if err != nil {
		return err
	}
	k := c.streams.live.of(f.stream)
	switch {
	case k == nil:
	case f.has(flagEndStream):
		c.streams.trailers(k, head)
	case k.headed:
		c.streams.protocolError(k, errors.New("a second header block before the end of the reply"))
	case len(head.http) == 3 && head.http[0] == '1':
		// An interim response: the final one follows.
	case head.http != "200":
		err := head.notGRPC()
		c.out.pending = appendReset(c.out.pending, k.id, codeCancel)
		c.streams.conclude(k, false, err)
	default:
		k.headed = true
	}
	return nil
}

func (c *conn) handleSettings(f frame) error {
	p := f.payload
	switch {
	case f.stream != 0:
		return errors.New("SETTINGS on a stream")
	case f.has(flagAck):
		if len(p) != 0 || !c.in.settled {
			return errors.New("a SETTINGS acknowledgement that is not empty, or comes first")
		}
		return nil
	case len(p)%6 != 0:
		return fmt.Errorf("SETTINGS of %d bytes", len(p))
	}
	for ; len(p) > 0; p = p[6:] {
		if err := c.streams.set(binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:])); err != nil {
			return err
		}
	}
	if !c.in.settled {
		c.in.settled = true
		close(c.ready)
	}
	var b [frameHead]byte
	return c.out.answer(appendHead(b[:0], 0, frameSettings, flagAck, 0))
}

func (c *conn) handlePing(f frame) error {
	switch {
	case f.stream != 0 || len(f.payload) != 8:
		return fmt.Errorf("PING of %d bytes on stream %d", len(f.payload), f.stream)
	case f.has(flagAck):
		return nil
	}
	var b [frameHead + 8]byte // on the stack: etcd's members ping with every few answers
	ack := append(appendHead(b[:0], 8, framePing, flagAck, 0), f.payload...)
	if c.pings.ping(f.payload) {
		c.out.late += len(ack)
	}
	return c.out.answer(ack)
}

func (c *conn) handleGoAway(f frame) error {
	if f.stream != 0 || len(f.payload) < 8 {
		return fmt.Errorf("GOAWAY of %d bytes on stream %d", len(f.payload), f.stream)
	}
	last := binary.BigEndian.Uint32(f.payload) & maxWindow
	why := status.Errorf(codes.Unavailable, "the server sent GOAWAY: %s %.200q", codeName(binary.BigEndian.Uint32(f.payload[4:])), f.payload[8:])
	c.retire(why)
	for k := range c.streams.live.all() {
		if k.id > last {
			c.streams.conclude(k, true, why)
		}
	}
	for i := 0; i < len(c.streams.waiting); {
		if k := c.streams.waiting[i]; !k.open {
			c.streams.conclude(k, true, why) // removes it from waiting
			continue
		}
		i++
	}
	return nil
}
