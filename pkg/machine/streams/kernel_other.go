//go:build !linux

package streams

import (
	"errors"
	"net/netip"
)

// connections returns an error: only Linux is asked.
func connections(netip.AddrPort) ([]connection, error) { return nil, errors.ErrUnsupported }
