//go:build !linux

package poller

import (
	"net"
	"testing"
)

// ways returns the ways to serve connections.
func ways(*testing.T) map[string]func(net.Conn, Reader) (Conn, error) {
	return map[string]func(net.Conn, Reader) (Conn, error){
		"single": func(nc net.Conn, r Reader) (Conn, error) { return Serve(plain{nc}, r) },
		"common": Serve,
		"apart":  Apart,
	}
}
