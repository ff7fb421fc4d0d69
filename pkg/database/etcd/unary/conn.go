package unary

import (
	"context"
	"net"
	"time"

	"github.com/coreos/dbtester/pkg/database/etcd/http2"
	"github.com/coreos/dbtester/pkg/wire/fiber"
	"github.com/coreos/dbtester/pkg/wire/poller"
)

// conn is one HTTP/2 connection that carries calls. Callers append requests to its writer. A
// poller passes arriving bytes to it, in one goroutine at a time; only that goroutine ends calls,
// and serve after it.
type conn struct {
	link *http2.Conn // its lock guards the fields below
	// withdraw makes the client choose other connections; replace also opens another
	// one, and reports whether it will. Both may be called with the lock.
	withdraw func()
	replace  func(why error) bool
	replaced bool // replace opens another connection
	streams  streams
}

func newConn(timing timing, heads *http2.RequestHeads) *conn {
	c := &conn{streams: streams{nextID: 1}}
	c.link = http2.New(timing.conn, heads, &c.streams)
	c.streams.out, c.streams.heads, c.streams.flow = &c.link.Out, heads, &c.link.Flow
	return c
}

// handshake returns when the server settings have arrived. After an error the connection has ended.
func (c *conn) handshake(ctx context.Context, nc net.Conn) error {
	// The windows are as large as possible, because replies are read at once.
	return c.link.Handshake(ctx, nc, http2.MaxWindow, func(nc net.Conn) (poller.Conn, error) { return poller.Serve(nc, c) })
}

// serve returns when the connection or ctx has ended and every remaining call was ended.
func (c *conn) serve(ctx context.Context) error {
	err := c.link.Serve(ctx)
	c.withdraw()
	c.streams.wake()
	c.link.Out.Wait()
	return err
}

// call tracks one call on one connection. The connection lock guards its fields until it has ended;
// after that they are the caller's.
type call struct {
	ended    chan struct{} // receives once, after the result is set, unless a fiber waits
	fiber    *fiber.Fiber  // that waits and is continued once; nil if a goroutine does
	conn     *conn         // for a call by a fiber
	path     string
	left     time.Duration // until the deadline, if the request is sent at once; else 0
	deadline time.Time     // if left is 0, or zero
	id       uint32
	open     bool // its HEADERS were appended

	rest   []byte // the request, if it did not fit at once
	gone   int    // bytes of rest appended
	window int64  // bytes the server accepts on the stream
	end    int64  // where the request ends in the writer; 0 until it was appended

	headed bool // the reply headers have arrived
	reply  reply
	credit int64 // reply bytes since the last WINDOW_UPDATE for the stream

	over      bool
	withdrawn bool // by its caller, or because that was interrupted
	canceled  bool // by the server
	err       error
	unsent    bool // the server surely did not process the request
}

// keepReply and keepRequest bound the buffers a call keeps for the next, in bytes.
const keepReply, keepRequest = 4 << 10, 64 << 10

// reset prepares a call for reuse.
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

// delay notes that a request is sent later: the time that is left for it then needs a look at the
// clock.
func (c *call) delay() {
	if c.left > 0 {
		c.deadline, c.left = time.Now().Add(c.left), 0
	}
}

// timing holds the timeouts and pauses of a client.
type timing struct {
	// connect bounds one connection attempt. Between attempts there are pauses that
	// grow from firstPause to longestPause.
	connect, firstPause, longestPause time.Duration
	conn                              http2.Timing
}

func defaultTiming() timing {
	return timing{
		connect: 2 * time.Second, firstPause: 100 * time.Millisecond, longestPause: time.Second,
		conn: http2.UsualTiming(),
	}
}

// retire accepts no more calls; running ones continue. The connection is locked.
func (c *conn) retire(reason error) {
	if c.link.Refuse == nil {
		c.link.Refuse = reason
		c.withdraw()
		c.replaced = c.replace(reason)
	}
}

// rest makes the client sleep through the frames before the next answer, unless something else as
// short may come alone. The connection is locked.
func (c *conn) rest() {
	c.link.Pings.Rest(c.link.Pings.MayRest() && len(c.streams.waiting) == 0 && !c.streams.answering())
}
