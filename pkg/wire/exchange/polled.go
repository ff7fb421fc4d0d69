package exchange

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/wire/fiber"
	"github.com/coreos/dbtester/pkg/wire/poller"
)

// polled is a connection whose answers package poller awaits, for the fibers that use it: it continues
// the one that waits. Goroutines may use it too. Only the running exchange reads and writes.
type polled struct {
	socket poller.Socket
	fiber  *fiber.Fiber // the running exchange's; nil if a goroutine runs it
	until  time.Time    // bounds reads; zero means no bound
	more   bool         // something may have arrived without a call to tell
	reads  int          // since the last wait
	over   atomic.Pointer[net.OpError]

	state atomic.Int32
	// waiter is continued when the state changes from awaited; without it woken receives.
	waiter *fiber.Fiber
	woken  chan struct{} // nil before a goroutine waits
}

// The states of a polled connection.
const (
	quiet    int32 = iota
	happened       // something has, and the exchange has not seen it
	awaited        // the exchange waits
)

var (
	errTimeout = &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	errClosed  = &net.OpError{Op: "read", Net: "tcp", Err: net.ErrClosed}
)

// attach registers the connection with package poller, which then reports arrivals to tell. After
// an error the connection may be closed.
func attach(conn *net.TCPConn) (*polled, error) {
	p := &polled{more: true} // bytes may have arrived before tell was registered
	var err error
	p.socket, err = poller.Attach(conn, p.tell)
	return p, err
}

// Package poller calls tell after an event on the socket.
func (p *polled) tell() {
	if p.state.Swap(happened) != awaited {
		return
	}
	if p.waiter != nil {
		p.waiter.Continue()
	} else {
		p.woken <- struct{}{}
	}
}

// news reports whether something has happened since the last read.
func (p *polled) news() bool { return p.more || p.state.Load() == happened }

// peek reports whether bytes have arrived, without waiting.
func (p *polled) peek() (waiting bool, err error) {
	p.state.Store(quiet) // arrivals from now on are reported again
	p.more, err = p.socket.Peek()
	return p.more, err
}

// await returns when something may have arrived.
func (p *polled) await() error {
	err := p.failure()
	if err != nil || p.more {
		return err
	}
	if p.until.IsZero() {
		p.wait()
	} else {
		err = p.waitUntil(p.until)
	}
	p.state.Store(quiet) // arrivals from now on are reported again
	p.more, p.reads = true, 0
	if err == nil {
		err = p.failure()
	}
	return err
}

// wait returns when something has happened.
func (p *polled) wait() {
	p.waiter = p.fiber
	if p.waiter == nil && p.woken == nil {
		p.woken = make(chan struct{}, 1)
	}
	switch {
	case !p.state.CompareAndSwap(quiet, awaited): // it has happened
	case p.waiter != nil:
		p.waiter.Wait()
	default:
		<-p.woken
	}
}

// waitUntil waits like wait, with a bound. A fiber waits on its own goroutine.
func (p *polled) waitUntil(end time.Time) error {
	p.fiber.Leave()
	p.waiter = nil
	if p.woken == nil {
		p.woken = make(chan struct{}, 1)
	}
	if !p.state.CompareAndSwap(quiet, awaited) {
		return nil
	}
	timer := time.NewTimer(time.Until(end))
	defer timer.Stop()
	select {
	case <-p.woken:
	case <-timer.C:
		if p.state.CompareAndSwap(awaited, quiet) {
			return errTimeout
		}
		<-p.woken
	}
	return nil
}

// Read implements [io.Reader].
func (p *polled) Read(b []byte) (int, error) {
	const patience = 16 // reads without a wait, for which other fibers wait
	for {
		if err := p.await(); err != nil {
			return 0, err
		}
		n, more, err := p.socket.TryRead(b)
		p.more = more || err != nil // and each later read fails
		if p.reads++; p.reads > patience {
			p.fiber.Leave()
		}
		if err != nil {
			if over := p.failure(); over != nil {
				err = over
			}
			return 0, err
		}
		if n > 0 {
			return n, nil
		}
	}
}

// Write implements [io.Writer]. If the network does not take all at once, a fiber waits for it on its
// own goroutine.
func (p *polled) Write(b []byte) (int, error) {
	err := p.failure()
	if err != nil {
		return 0, err
	}
	n, err := p.socket.TryWrite(b)
	if err == nil && n < len(b) {
		p.fiber.Leave()
		var rest int
		rest, err = p.socket.Write(b[n:])
		n += rest
	}
	if err != nil {
		if over := p.failure(); over != nil {
			err = over
		}
	}
	return n, err
}

// abort fails reads and writes of the running exchange. Its connection must not be used again.
func (p *polled) abort(reason *net.OpError) {
	p.over.CompareAndSwap(nil, reason)
	_ = p.socket.Shutdown() // fails only if the connection has ended
}

// failure returns why the exchange was aborted, nil if it was not.
func (p *polled) failure() error {
	if over := p.over.Load(); over != nil {
		return over
	}
	return nil
}

var _ io.ReadWriter = (*polled)(nil)
