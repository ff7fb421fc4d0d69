//go:build !linux

package poller

import "net"

// share would have a common goroutine read a connection; there is none.
func share(*net.TCPConn, Reader) (Conn, error) { return nil, nil }
