package unary

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/wire/buffer"
	"github.com/coreos/dbtester/pkg/wire/fiber"
	"github.com/coreos/dbtester/pkg/wire/poller"
)

// conn is one HTTP/2 connection. Callers append requests to its writer. A poller hands it what
// arrives, by one goroutine at a time; only that ends calls, and serve after it.
type conn struct {
	net    poller.Conn
	timing timing
	ready  chan struct{} // closed when the server's settings have arrived
	lost   chan error    // receives why nothing more arrives
	look   chan struct{} // receives when serve must look whether the connection should end
	// withdraw makes the client choose other connections; replace also opens another
	// one, and reports whether it did. Both may be called with the lock.
	withdraw func()
	replace  func() bool

	mu       sync.Mutex
	refuse   error // why no call is accepted any more; nil while calls are
	failure  error // why the connection ended
	replaced bool  // replace has opened another connection

	pings   latePings
	streams streams
	out     writer
	in      reader
}

// reader is the state of the goroutine that reads. The connection's lock guards alive and
// pinged.
type reader struct {
	buf       []byte         // nil while nothing is being read
	memory    *buffer.Buffer // of buf, which was borrowed
	have      int            // bytes in buf
	heads     *replyHeads
	settled   bool   // the server's settings have arrived
	alive     bool   // something has arrived since the last keepalive check
	pinged    bool   // nothing had, and a ping was sent
	credit    int64  // bytes received since the last WINDOW_UPDATE of the connection
	block     []byte // of a header block without its end, with its first frame
	first     frame
	continues bool
}

// call is one call on one connection. Its fields belong to the connection's lock
// until it has ended, and then to the caller.
type call struct {
	ended    chan struct{} // receives once, after the result is set, unless a fiber waits
	fiber    *fiber.Fiber  // that waits and is continued once; nil if a goroutine does
	conn     *conn         // of a call of a fiber
	path     string
	left     time.Duration // until the deadline, if the request is sent at once; else 0
	deadline time.Time     // if left is 0; zero for none
	id       uint32
	open     bool // its HEADERS were appended

	rest   []byte // the request, if it did not fit at once
	gone   int    // bytes of rest that were appended
	window int64  // bytes that the server accepts on the stream
	end    int64  // position of the request's end in the writer; 0 until it was appended

	headed bool // the headers of the reply have arrived
	reply  reply

	over      bool
	withdrawn bool // by its caller, or because that was interrupted
	canceled  bool // by the server
	err       error
	unsent    bool // the server surely did not process the request
}

// keepReply and keepRequest bound the buffers in bytes that a call keeps for the next.
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

// timing are the time-outs and pauses of a client.
type timing struct {
	// connect bounds one connection attempt. Between attempts there are pauses that
	// grow from firstPause to longestPause.
	connect, firstPause, longestPause time.Duration
	// keepalive is the silence after which a ping is sent to a server that owes a reply,
	// and pingTimeout the time it has to answer. Servers close connections that ping
	// more often.
	keepalive, pingTimeout time.Duration
	// linger is how long replies are still read after a write failed.
	linger time.Duration
}

func defaultTiming() timing {
	return timing{
		connect: 2 * time.Second, firstPause: 100 * time.Millisecond, longestPause: time.Second,
		keepalive: 10 * time.Second, pingTimeout: 5 * time.Second,
		linger: 100 * time.Millisecond,
	}
}

// errDrained ends a retired connection after its last call.
var errDrained = errors.New("no call is left on a retired connection")

func lost(err error) error {
	return status.Error(codes.Unavailable, "the connection is lost: "+err.Error())
}

// retire accepts no more calls; running ones continue. The connection is locked.
func (c *conn) retire(reason error) {
	if c.refuse == nil {
		c.refuse = reason
		c.withdraw()
		c.replaced = c.replace()
	}
}

// fail accepts no more calls, stops writing, and soon stops reading.
func (c *conn) fail(reason error) {
	c.mu.Lock()
	c.out.broken = true
	if c.failure == nil {
		c.failure = reason
	}
	if c.refuse == nil {
		c.refuse = reason
	}
	c.mu.Unlock()
	c.lookAgain() // replies that have arrived are still read
	c.withdraw()
}

// lookAgain has serve look whether the connection should end.
func (c *conn) lookAgain() {
	select {
	case c.look <- struct{}{}:
	default:
	}
}

// drained reports whether a retired connection has no calls left.
func (c *conn) drained() bool {
	return c.refuse != nil && c.streams.none()
}

// onDone calls f when ctx is done. The function it returns prevents that, or waits
// for f.
func onDone(ctx context.Context, f func()) func() {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		f()
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}
