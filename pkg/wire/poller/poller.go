// Package poller passes bytes that arrive on many connections to their readers. Plain TCP
// connections share one goroutine that waits for all of them. A goroutine for each connection
// costs a round of Go's scheduler for every answer, and often wakes a thread, which took a
// quarter of the processor time of a client. On Linux the same goroutine ends waits for times
// (see [Alarms]), and only notifies users that read themselves (see [Socket]).
package poller

import (
	"net"
	"sync"
	"sync/atomic"
)

// Forever is the function whose goroutine serves connections as long as the process runs, for
// tests that look for goroutines left behind.
const Forever = "github.com/coreos/dbtester/pkg/wire/poller.(*set).run"

// Reader receives the bytes that arrive on a connection. One goroutine at a time calls its methods.
// Many connections may share that goroutine, so the methods must not wait for other bytes to arrive.
type Reader interface {
	// Room returns memory for the next bytes. It must not be empty, and belongs to the connection
	// until the next call.
	Room() []byte
	// Received is called after n bytes were read into Room, and with 0 if none had arrived.
	// After an error nothing more is read.
	Received(n int) error
	// Lost is called last, unless the connection was closed before. err is the error of Received, or
	// of reading: [io.EOF] if the other side has ended.
	Lost(err error)
}

// Conn is a connection for writing, whose reader gets the arriving bytes.
type Conn interface {
	// TryWrite writes as much of b as the network takes at once, and returns the count, which may be
	// 0. Only one goroutine may write at a time.
	TryWrite(b []byte) (int, error)
	// Write writes all of b, and waits for the network.
	Write(b []byte) (int, error)
	// Close ends the connection, fails writes, and returns when the reader's methods have
	// returned, so these must not call it. It may be called again.
	Close() error
}

// LowWater is a [Conn] with a low-water mark for arriving bytes, such as a plain TCP connection on
// Linux.
type LowWater interface {
	// WakeAt delays calls of the reader until a number of bytes have arrived, or the other side has
	// ended.
	WakeAt(bytes int) error
}

// Serve passes the bytes that arrive on a connection to a reader, from now on. The caller must no
// longer use nc, and must close the returned connection.
func Serve(nc net.Conn, r Reader) (Conn, error) { return serve(nc, r, shareSocket) }

// serve has a plain TCP connection share a goroutine, if this system has such ones.
func serve(nc net.Conn, r Reader, share func(*net.TCPConn, Reader) (Conn, error)) (Conn, error) {
	if plain, ok := nc.(*net.TCPConn); ok {
		if c, err := share(plain, r); c != nil || err != nil {
			return c, err
		}
	}
	return newSingle(nc, r), nil
}

// single is a connection with its own goroutine.
type single struct {
	net     net.Conn
	reader  Reader
	reading sync.WaitGroup
	closed  atomic.Bool
}

func newSingle(nc net.Conn, r Reader) *single {
	c := &single{net: nc, reader: r}
	c.reading.Go(c.read)
	return c
}

// read reads until the connection ends.
func (c *single) read() {
	for {
		n, err := c.net.Read(c.reader.Room())
		if n > 0 {
			if bad := c.reader.Received(n); bad != nil {
				err = bad
			}
		}
		if err != nil {
			if !c.closed.Load() {
				c.reader.Lost(err)
			}
			return
		}
		if until := pause(c.reader); until != nil {
			<-until
		}
	}
}

// TryWrite implements [Conn]. This connection cannot write without waiting.
func (c *single) TryWrite([]byte) (int, error) { return 0, nil }

// Write implements [Conn].
func (c *single) Write(b []byte) (int, error) { return c.net.Write(b) }

// Close implements [Conn].
func (c *single) Close() (err error) {
	if !c.closed.Swap(true) {
		err = c.net.Close()
	}
	c.reading.Wait()
	return err
}
