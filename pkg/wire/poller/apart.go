package poller

import "net"

// Apart serves like [Serve], by another goroutine, which serves connections from Apart alone:
// readers that take long, as with thousands of events at once, delay no connection from Serve.
func Apart(nc net.Conn, r Reader) (Conn, error) { return serve(nc, r, shareApart) }
