// Package poller passes bytes that arrive on many connections to their readers. Plain TCP
// connections share one goroutine that waits for them all. A goroutine for each connection costs a
// round of the Go scheduler for every answer, and often wakes a thread, which took a quarter of
// client processor time. On Linux the same goroutine ends waits for times (see [Alarms]), and only
// notifies users that read themselves (see [Socket]).
package poller

import "net"

// Forever is the function whose goroutine serves connections as long as the process runs, for
// tests that look for goroutines left behind.
const Forever = "github.com/coreos/dbtester/pkg/wire/poller.(*set).run"

// Serve passes the bytes that arrive on a connection to a reader, from now on. The caller must no
// longer use nc, and must close the returned connection.
func Serve(nc net.Conn, r Reader) (Conn, error) { return serve(nc, r, shareSocket) }

// serve has a plain TCP connection share a goroutine, if this system has shared ones.
func serve(nc net.Conn, r Reader, share func(*net.TCPConn, Reader) (Conn, error)) (Conn, error) {
	if plain, ok := nc.(*net.TCPConn); ok {
		if c, err := share(plain, r); c != nil || err != nil {
			return c, err
		}
	}
	return newSingle(nc, r), nil
}
