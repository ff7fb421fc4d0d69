package unary

import (
	"context"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// call is one call on one connection. Its fields belong to the connection's lock
// until it has ended, and then to the caller.
type call struct {
	ended chan struct{} // receives once, after result
	path  string
	id    uint32
	open  bool // its HEADERS were appended

	rest   []byte // the request, in the slow way only
	gone   int    // how much of it was appended
	window int64  // what the server takes of it
	end    int64  // where in the connection's bytes it ends; 0 while it is not wholly appended

	headed bool // its reply has begun
	reply  reply

	over   bool
	err    error
	unsent bool // the server surely did nothing
}

// keepReply and keepRequest bound what a call keeps in memory for the next.
const keepReply, keepRequest = 4 << 10, 64 << 10

// reset makes a call ready for use.
func (c *call) reset(path string) {
	body, rest := c.reply.body[:0], c.rest[:0]
	if cap(body) > keepReply {
		body = nil
	}
	if cap(rest) > keepRequest {
		rest = nil
	}
	*c = call{ended: c.ended, path: path, rest: rest, reply: reply{body: body, size: -1}}
}

// start gives a call to the connection. It returns false, and nothing has
// happened, if the connection takes no more.
func (c *conn) start(k *call, m *Message) bool {
	size := m.size()
	whole := int64(prefix + size)
	c.mu.Lock()
	if c.refuse != nil {
		c.mu.Unlock()
		c.peer.leave(c)
		return false
	}
	k.id = c.nextID
	if c.nextID += 2; c.nextID > maxWindow {
		c.retire(status.Error(codes.Unavailable, "the connection has had all its calls"))
	}
	if len(c.waiting) == 0 && int64(len(c.streams)) < c.maxStreams &&
		whole <= maxFrame && whole <= c.window && whole <= c.streamWindow {
		c.open(k)
		c.window -= whole
		c.pending = appendHead(c.pending, int(whole), frameData, flagEndStream, k.id)
		c.pending = m.appendTo(c.pending, size)
		k.end = c.taken + int64(len(c.pending))
	} else {
		k.rest = m.appendTo(k.rest[:0], size)
		c.waiting = append(c.waiting, k)
		c.pump()
	}
	others := len(c.streams) > 1
	write := c.claim()
	c.mu.Unlock()
	if write {
		c.write(others)
	}
	return true
}

// open appends the HEADERS of a call. The connection is locked.
func (c *conn) open(k *call) {
	at := len(c.pending)
	c.pending = appendHead(c.pending, 0, frameHeaders, flagEndHeaders, k.id)
	c.pending = c.heads.appendTo(c.pending, k.path)
	length := len(c.pending) - at - frameHead
	c.pending[at+1], c.pending[at+2] = byte(length>>8), byte(length)
	c.streams[k.id] = k
	k.open, k.window = true, c.streamWindow
}

// pump appends what the windows and the limit of streams allow of the calls that
// wait, in their order; no more than a few frames ahead of what is written. The
// connection is locked.
func (c *conn) pump() {
	const ahead = 4 * maxFrame
	sent := false
	for _, k := range c.waiting {
		if !k.open {
			if int64(len(c.streams)) >= c.maxStreams || len(c.pending) > ahead {
				break // and so must all behind it: streams are opened in order
			}
			c.open(k)
		}
		for k.gone < len(k.rest) && c.window > 0 && k.window > 0 && len(c.pending) <= ahead {
			n := int(min(int64(len(k.rest)-k.gone), c.window, k.window, maxFrame))
			flags := byte(0)
			if k.gone+n == len(k.rest) {
				flags = flagEndStream
			}
			c.pending = appendHead(c.pending, n, frameData, flags, k.id)
			c.pending = append(c.pending, k.rest[k.gone:k.gone+n]...)
			c.window -= int64(n)
			k.window -= int64(n)
			k.gone += n
		}
		if k.gone == len(k.rest) {
			k.end = c.taken + int64(len(c.pending))
			sent = true
		}
	}
	if sent {
		c.waiting = slices.DeleteFunc(c.waiting, func(k *call) bool { return k.end != 0 })
	}
}

// wait returns when the call has ended, or when ctx has; then it takes the call
// back. unsent says that the server surely did nothing.
func (c *conn) wait(ctx context.Context, k *call) (unsent bool, err error) {
	select {
	case <-k.ended:
		return k.unsent, k.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	if k.over {
		c.mu.Unlock()
		<-k.ended
		return k.unsent, k.err
	}
	c.drop(k)
	c.pump()
	c.finish()
	write := c.claim()
	c.mu.Unlock()
	if write {
		c.write(false)
	}
	return k.end == 0, ctx.Err()
}

// drop forgets a call, and tells the server if it knows of it. The connection is
// locked.
func (c *conn) drop(k *call) {
	if k.end == 0 {
		c.waiting = slices.DeleteFunc(c.waiting, func(other *call) bool { return other == k })
	}
	if k.open {
		delete(c.streams, k.id)
		c.pending = appendReset(c.pending, k.id, codeCancel)
	}
}

// conclude ends a call. Only the goroutine that reads does this; it holds the
// lock, and wakes the caller after it.
func (c *conn) conclude(k *call, unsent bool, err error) {
	if k.end == 0 {
		c.drop(k) // the rest is not wanted any more
	} else {
		delete(c.streams, k.id)
	}
	k.over, k.unsent, k.err = true, unsent, err
	c.in.over = append(c.in.over, k)
}
