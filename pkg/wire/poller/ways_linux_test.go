package poller

import (
	"net"
	"testing"
)

// ways returns the ways to serve connections: by a goroutine that waits in a system call, by one
// that waits as goroutines usually do, and by one for each that is no socket.
func ways(t *testing.T) map[string]func(net.Conn, Reader) (Conn, error) {
	t.Helper()
	served := map[string]func(net.Conn, Reader) (Conn, error){
		"single": func(nc net.Conn, r Reader) (Conn, error) { return Serve(plain{nc}, r) },
		"common": Serve,
		"apart":  Apart,
	}
	for name, s := range sets(t) {
		served[name] = func(nc net.Conn, r Reader) (Conn, error) { return s.share(nc.(*net.TCPConn), r) }
	}
	return served
}

// sets returns a set for each way to wait, with a goroutine each.
func sets(t *testing.T) map[string]*set {
	t.Helper()
	made := map[string]*set{}
	for name, how := range map[string]struct {
		processors int
		exact      bool
	}{"block": {2, true}, "old kernel": {2, false}, "park": {1, true}} {
		s, err := newSet(how.processors, how.exact)
		if err != nil {
			t.Fatal(err)
		}
		made[name] = s
	}
	return made
}
