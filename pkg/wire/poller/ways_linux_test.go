package poller

import (
	"net"
	"testing"
)

// ways are those in which connections are served: by a goroutine that waits in a system call, by
// one that waits as Go's do, and by one for each.
func ways(t *testing.T) map[string]func(net.Conn, Reader) (Conn, error) {
	t.Helper()
	served := map[string]func(net.Conn, Reader) (Conn, error){
		"single": func(nc net.Conn, r Reader) (Conn, error) { return Serve(plain{nc}, r) },
		"common": Serve,
	}
	for name, processors := range map[string]int{"block": 2, "park": 1} {
		s, err := newSet(processors)
		if err != nil {
			t.Fatal(err)
		}
		served[name] = func(nc net.Conn, r Reader) (Conn, error) { return s.share(nc.(*net.TCPConn), r) }
	}
	return served
}
