//go:build !linux

package poller

import "net"

// shareSocket returns nil: only on Linux a common goroutine reads connections.
func shareSocket(*net.TCPConn, Reader) (Conn, error) { return nil, nil }
