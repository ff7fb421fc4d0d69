package unary

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// read takes what the server sent, once. An error ends the connection.
func (c *conn) read() error {
	n, err := c.net.Read(c.in.buf[c.in.have:])
	if n > 0 {
		c.in.alive = true
		c.in.have += n
		if err := c.consume(); err != nil {
			return err
		}
	}
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		return c.look()
	}
	return err
}

// look is what follows a silence, or a wake-up: a server that owes something is
// asked for a sign of life, and given up if it gives none.
func (c *conn) look() error {
	timing := c.peer.client.timing
	next, err := timing.silence, error(nil)
	c.mu.Lock()
	switch {
	case c.failure != nil:
		err = c.failure
	case c.drained():
		err = errDrained
	case c.in.alive:
		c.in.pinged = false
	case c.in.pinged:
		err = fmt.Errorf("the server gives no sign of life for %v", timing.patience)
	case len(c.streams) > 0:
		c.pending = append(appendHead(c.pending, 8, framePing, 0, 0), "dbtester"...)
		c.in.pinged, next = true, timing.patience
	}
	c.in.alive = false
	if err == nil {
		err = c.net.SetReadDeadline(time.Now().Add(next))
	}
	write := c.claim()
	c.mu.Unlock()
	if write {
		c.write(false)
	}
	return err
}

// consume handles every frame that is there in whole, and then wakes those whose
// calls have ended.
func (c *conn) consume() error {
	at := 0
	c.mu.Lock()
	var err error
	for err == nil {
		f, size, bad := nextFrame(c.in.buf[at:c.in.have])
		if err = bad; err != nil || size == 0 {
			break
		}
		err = c.handle(f)
		at += size
	}
	if len(c.waiting) > 0 {
		c.pump()
	}
	if err == nil && c.in.settled && c.drained() {
		err = errDrained
	}
	write := c.claim()
	c.mu.Unlock()
	woken := len(c.in.over)
	c.wake()
	if write {
		c.write(woken > 0) // those that were woken have more to say
	}
	if err == nil {
		c.compact(at)
	}
	return err
}

// compact moves what follows the first bytes to the front, and makes room for a
// frame that does not fit.
func (c *conn) compact(at int) {
	in := &c.in
	in.have = copy(in.buf, in.buf[at:in.have])
	if in.have == len(in.buf) {
		in.buf = append(in.buf, make([]byte, frameHead+maxFrame+readBuffer-len(in.buf))...)
	}
}

// wake wakes the callers of the calls that have ended.
func (c *conn) wake() {
	for i, k := range c.in.over {
		k.ended <- struct{}{}
		c.in.over[i] = nil
	}
	c.in.over = c.in.over[:0]
}

// handle takes one frame; an error is one of the connection. It is locked.
func (c *conn) handle(f frame) error {
	if !c.in.settled && f.kind != frameSettings {
		return fmt.Errorf("the server begins with a frame of kind %d", f.kind)
	}
	if c.in.continues && f.kind != frameContinuation {
		return fmt.Errorf("a frame of kind %d within header fields", f.kind)
	}
	switch f.kind {
	case frameData:
		return c.handleData(f)
	case frameHeaders:
		return c.handleHeaders(f)
	case frameContinuation:
		return c.handleContinuation(f)
	case frameReset:
		return c.handleReset(f)
	case frameSettings:
		return c.handleSettings(f)
	case framePing:
		return c.handlePing(f)
	case frameGoAway:
		return c.handleGoAway(f)
	case frameWindowUpdate:
		return c.handleWindowUpdate(f)
	case framePushPromise:
		return errors.New("the server pushes, which was switched off")
	}
	return nil // others are to be ignored
}

// callOf returns the call of a frame, nil if it is over.
func (c *conn) callOf(f frame) (*call, error) {
	if f.stream%2 == 0 || f.stream >= c.nextID {
		return nil, fmt.Errorf("a frame of kind %d on stream %d, where no call is", f.kind, f.stream)
	}
	return c.streams[f.stream], nil
}

// abuse ends a call for a fault of the server.
func (c *conn) abuse(k *call, err error) {
	if k.end != 0 { // else conclude resets it
		c.pending = appendReset(c.pending, k.id, codeProtocol)
	}
	c.conclude(k, false, status.Error(codes.Internal, err.Error()))
}

func (c *conn) handleData(f frame) error {
	k, err := c.callOf(f)
	if err != nil {
		return err
	}
	data, err := f.unpad()
	if err != nil {
		return err
	}
	// Whole windows are half a GiB and more, so that this is rare.
	if c.in.credit += int64(len(f.payload)); c.in.credit >= maxWindow/2 {
		c.pending = appendWindowUpdate(c.pending, 0, uint32(c.in.credit))
		c.in.credit = 0
	}
	if k == nil {
		return nil
	}
	err = k.reply.add(data)
	switch {
	case !k.headed:
		err = errors.New("a reply without header fields")
	case err == nil && f.has(flagEndStream):
		err = errors.New("a reply without a status")
	}
	if err != nil {
		c.abuse(k, err)
	}
	return nil
}

func (c *conn) handleHeaders(f frame) error {
	if _, err := c.callOf(f); err != nil {
		return err
	}
	block, err := f.unpad()
	if err != nil {
		return err
	}
	if f.has(flagEndHeaders) {
		return c.handleBlock(f, block)
	}
	c.in.begun, c.in.continues = f, true
	c.in.begun.payload = nil // of a buffer that is reused
	c.in.block = append(c.in.block[:0], block...)
	return nil
}

func (c *conn) handleContinuation(f frame) error {
	switch {
	case !c.in.continues || f.stream != c.in.begun.stream:
		return errors.New("a continuation of nothing")
	case len(c.in.block)+len(f.payload) > maxHeads || len(f.payload) == 0 && !f.has(flagEndHeaders):
		return fmt.Errorf("header fields of more than %d bytes, or of none", maxHeads)
	}
	c.in.block = append(c.in.block, f.payload...)
	if !f.has(flagEndHeaders) {
		return nil
	}
	c.in.continues = false
	return c.handleBlock(c.in.begun, c.in.block)
}

// handleBlock takes the header fields that a frame began.
func (c *conn) handleBlock(f frame, block []byte) error {
	head, err := c.in.heads.decode(block)
	if err != nil {
		return err
	}
	k := c.streams[f.stream]
	switch {
	case k == nil:
	case f.has(flagEndStream):
		c.handleEnd(k, head)
	case k.headed:
		c.abuse(k, errors.New("header fields in the middle of a reply"))
	case len(head.http) == 3 && head.http[0] == '1':
		// More is to come.
	case head.http != "200":
		err := head.notGRPC()
		c.pending = appendReset(c.pending, k.id, codeCancel)
		c.conclude(k, false, err)
	default:
		k.headed = true
	}
	return nil
}

// handleEnd ends a call by the fields at its end.
func (c *conn) handleEnd(k *call, head replyHead) {
	err := head.result()
	if err == nil {
		if _, bad := k.reply.message(); bad != nil {
			err = status.Error(codes.Internal, bad.Error())
		}
	}
	c.conclude(k, false, err)
}

func (c *conn) handleReset(f frame) error {
	k, err := c.callOf(f)
	switch {
	case err != nil:
		return err
	case len(f.payload) != 4:
		return fmt.Errorf("a reset of %d bytes", len(f.payload))
	case k == nil:
		return nil
	}
	code := binary.BigEndian.Uint32(f.payload)
	kind := codes.Internal
	switch code {
	case codeRefused:
		kind = codes.Unavailable
	case codeCancel:
		kind = codes.Canceled
	case codeCalm:
		kind = codes.ResourceExhausted
	case codeNotSecure:
		kind = codes.PermissionDenied
	}
	c.conclude(k, code == codeRefused, status.Errorf(kind, "the server ends the stream: %s", codeName(code)))
	return nil
}

func (c *conn) handleSettings(f frame) error {
	p := f.payload
	switch {
	case f.stream != 0:
		return errors.New("settings of a stream")
	case f.has(flagAck):
		if len(p) != 0 || !c.in.settled {
			return errors.New("an answer to settings that is none")
		}
		return nil
	case len(p)%6 != 0:
		return fmt.Errorf("settings of %d bytes", len(p))
	}
	for ; len(p) > 0; p = p[6:] {
		if err := c.set(binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:])); err != nil {
			return err
		}
	}
	c.in.settled = true
	return c.answer(appendHead(nil, 0, frameSettings, flagAck, 0))
}

// set obeys one setting.
func (c *conn) set(id uint16, value uint32) error {
	switch id {
	case settingHeaderTable:
		c.heads.limit(value)
	case settingStreams:
		c.maxStreams = int64(value)
	case settingInitialWindow:
		if value > maxWindow {
			return fmt.Errorf("a window of %d bytes", value)
		}
		change := int64(value) - c.streamWindow
		c.streamWindow = int64(value)
		for _, k := range c.waiting {
			k.window += change // one that is not open gets its window then
		}
	case settingMaxFrame:
		if value < maxFrame || value >= 1<<24 {
			return fmt.Errorf("frames of %d bytes", value)
		}
	}
	return nil
}

// answer appends what the server asked for, unless it asks faster than it reads.
func (c *conn) answer(b []byte) error {
	const most = 10_000
	if c.acks++; c.acks > most {
		return fmt.Errorf("the server does not read %d answers that it asked for", most)
	}
	c.pending = append(c.pending, b...)
	return nil
}

func (c *conn) handlePing(f frame) error {
	switch {
	case f.stream != 0 || len(f.payload) != 8:
		return fmt.Errorf("a ping of %d bytes on stream %d", len(f.payload), f.stream)
	case f.has(flagAck):
		return nil
	}
	return c.answer(append(appendHead(nil, 8, framePing, flagAck, 0), f.payload...))
}

func (c *conn) handleGoAway(f frame) error {
	if f.stream != 0 || len(f.payload) < 8 {
		return fmt.Errorf("a farewell of %d bytes on stream %d", len(f.payload), f.stream)
	}
	last := binary.BigEndian.Uint32(f.payload) & maxWindow
	why := status.Errorf(codes.Unavailable, "the server goes away: %s %.200q", codeName(binary.BigEndian.Uint32(f.payload[4:])), f.payload[8:])
	c.retire(why)
	for _, k := range c.streams {
		if k.id > last {
			c.conclude(k, true, why)
		}
	}
	for i := 0; i < len(c.waiting); {
		if k := c.waiting[i]; !k.open {
			c.conclude(k, true, why) // which takes it out
			continue
		}
		i++
	}
	return nil
}

func (c *conn) handleWindowUpdate(f frame) error {
	if len(f.payload) != 4 {
		return fmt.Errorf("a window update of %d bytes", len(f.payload))
	}
	by := int64(binary.BigEndian.Uint32(f.payload) & maxWindow)
	if f.stream == 0 {
		if c.window += by; by == 0 || c.window > maxWindow {
			return fmt.Errorf("the connection's window grows by %d to %d", by, c.window)
		}
		return nil
	}
	k, err := c.callOf(f)
	if err != nil || k == nil {
		return err
	}
	if k.window += by; by == 0 || k.window > maxWindow {
		c.abuse(k, fmt.Errorf("a stream's window grows by %d to %d", by, k.window))
	}
	return nil
}
