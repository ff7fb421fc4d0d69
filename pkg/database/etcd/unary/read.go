package unary

import (
	"errors"

	"github.com/coreos/dbtester/pkg/database/etcd/http2"
)

// Room implements [poller.Reader].
func (c *conn) Room() []byte { return c.link.In.Room() }

// Received implements [poller.Reader]: it handles the complete frames.
func (c *conn) Received(n int) error {
	if n == 0 {
		c.link.In.Lend()
		return nil
	}
	c.link.In.Add(n)
	return c.consume()
}

// Lost implements [poller.Reader].
func (c *conn) Lost(err error) { c.link.Lost(err) }

// consume handles every complete frame, and then wakes the callers whose calls have
// ended.
func (c *conn) consume() error {
	c.link.Mu.Lock()
	c.link.Arrived()
	var err error
	for err == nil {
		f, ok, bad := c.link.In.Next()
		if err = bad; !ok {
			break
		}
		err = c.handle(f)
	}
	if len(c.streams.waiting) > 0 {
		c.streams.Refill()
	}
	c.link.Pings.Arrived(c.link.In.Partial())
	c.rest()
	if err == nil {
		err = c.link.Over()
	}
	fibers := c.streams.wakesFibers()
	c.link.Out.Held = fibers
	write := c.link.Out.Claim()
	c.link.Mu.Unlock()
	woken := len(c.streams.ended)
	c.streams.wake()
	if fibers { // they have appended their next requests
		c.link.Mu.Lock()
		c.link.Out.Held, woken = false, 0
		write = c.link.Out.Claim()
		c.link.Mu.Unlock()
	}
	if write {
		c.link.Out.Write(woken > 0) // woken callers may append another request
	}
	if err == nil {
		c.link.In.Compact()
	}
	return err
}

// handle handles one frame. An error ends the connection. The connection is locked.
func (c *conn) handle(f http2.Frame) error {
	initial := c.link.Flow.Initial
	if err := c.link.Control(f); err != nil {
		return err
	}
	switch f.Kind {
	case http2.FrameData:
		return c.handleData(f)
	case http2.FrameHeaders, http2.FrameContinuation:
		return c.handleHeaders(f)
	case http2.FrameReset:
		return c.streams.reset(f)
	case http2.FrameSettings:
		c.streams.widen(c.link.Flow.Initial - initial)
	case http2.FrameGoAway:
		return c.handleGoAway(f)
	case http2.FrameWindowUpdate:
		return c.streams.windowUpdate(f)
	}
	return nil
}

func (c *conn) handleData(f http2.Frame) error {
	k, err := c.streams.callOf(f)
	if err != nil {
		return err
	}
	data, err := f.Unpad()
	if err != nil || k == nil {
		return err
	}
	err = k.reply.add(data)
	switch {
	case !k.headed:
		err = errors.New("a reply without headers")
	case err == nil && f.Has(http2.FlagEndStream):
		err = errors.New("a reply without trailers")
	}
	if err != nil {
		c.streams.protocolError(k, err)
		return nil
	}
	c.streams.widenReply(k, len(f.Payload))
	return nil
}

// handleHeaders handles a header block once complete.
func (c *conn) handleHeaders(f http2.Frame) error {
	if f.Kind == http2.FrameHeaders {
		if _, err := c.streams.callOf(f); err != nil {
			return err
		}
	}
	head, f, complete, err := c.link.In.Block(f)
	if !complete {
		return err
	}
	k := c.streams.live.of(f.Stream)
	switch {
	case k == nil:
	case f.Has(http2.FlagEndStream):
		c.streams.trailers(k, head)
	case k.headed:
		c.streams.protocolError(k, errors.New("a second header block before the end of the reply"))
	case head.Interim():
		// The final one follows.
	case !head.OK():
		err := head.NotGRPC()
		c.link.Out.Pending = http2.AppendReset(c.link.Out.Pending, k.id, http2.CodeCancel)
		c.streams.conclude(k, false, err)
	default:
		k.headed = true
	}
	return nil
}

func (c *conn) handleGoAway(f http2.Frame) error {
	last, why, err := f.GoAway()
	if err != nil {
		return err
	}
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
