package agent

import (
	"fmt"
	"net"
	"net/netip"
)

// CheckListen refuses an address to listen on that other machines could reach,
// unless insecure allows it. It is for agents without certificates.
func CheckListen(addr string, insecure bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen address %q: %w", addr, err)
	}
	if insecure || isLoopback(host) {
		return nil
	}
	return fmt.Errorf("listen address %q can be reached from other machines, and anyone there could run databases here: pass --certs (dbtester certs init makes the files), use a loopback address, or pass --insecure", addr)
}

// isLoopback reports whether only this machine reaches a host. A name may resolve to anything by
// the time it is used, so only addresses count.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
