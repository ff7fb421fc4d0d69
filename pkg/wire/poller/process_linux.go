package poller

import (
	"net"
	"runtime"
	"sync"
)

// common and separate are the sets in this process for all connections from [Serve] and [Apart].
// Their goroutines never end: see [Forever].
var common, separate lazySet

// lazySet is a set that is opened when it is first needed, and retried after an error: a process
// that ran out of file descriptors may have some later.
type lazySet struct {
	mu  sync.Mutex
	set *set
}

func (l *lazySet) get() (s *set, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.set == nil {
		l.set, err = newSet(runtime.GOMAXPROCS(0), true)
	}
	return l.set, err
}

func (l *lazySet) share(nc *net.TCPConn, r Reader) (Conn, error) {
	s, err := l.get()
	if err != nil {
		return nil, err
	}
	return s.share(nc, r)
}

func (s *set) share(nc *net.TCPConn, r Reader) (Conn, error) {
	c, err := s.take(nc, &shared{reader: r})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// shareSocket makes the goroutine of the common set read a connection.
func shareSocket(nc *net.TCPConn, r Reader) (Conn, error) { return common.share(nc, r) }

// shareApart shares like shareSocket, with [Apart]'s set.
func shareApart(nc *net.TCPConn, r Reader) (Conn, error) { return separate.share(nc, r) }
