package poller

import (
	"net"
	"sync"
	"sync/atomic"
)

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
