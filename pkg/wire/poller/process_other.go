//go:build !linux

package poller

import (
	"errors"
	"net"
)

// shareSocket returns nil: only on Linux a common goroutine reads connections.
func shareSocket(*net.TCPConn, Reader) (Conn, error) { return nil, nil }

// shareApart calls shareSocket.
func shareApart(*net.TCPConn, Reader) (Conn, error) { return nil, nil }

// Attaches is false: only on Linux a common goroutine waits for connections.
const Attaches = false

// Attach is never called.
func Attach(*net.TCPConn, func()) (Socket, error) { return nil, errors.ErrUnsupported }
