package poller

import "net"

// Apart serves like [Serve], by another goroutine, which serves connections of Apart alone:
// readers that take long, as with thousands of events at once, delay no connection of Serve.
func Apart(nc net.Conn, r Reader) (Conn, error) { return serve(nc, r, shareApart) }

// Pauser is a [Reader] that may stop reading for a while.
type Pauser interface {
	Reader
	// Pause is called after each call of Received. Nothing is read until the channel that it returns is
	// closed, which must be before Close; nil is no pause.
	Pause() <-chan struct{}
}

// pause returns the channel that a reader waits for before it reads on, or nil if it does not
// wait.
func pause(r Reader) <-chan struct{} {
	if p, may := r.(Pauser); may {
		return p.Pause()
	}
	return nil
}
