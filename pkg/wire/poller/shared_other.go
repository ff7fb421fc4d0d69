//go:build !linux

package poller

import "net"

// shareSocket would have a common goroutine read a connection; there is none.
func shareSocket(*net.TCPConn, Reader) (Conn, error) { return nil, nil }
