package agent

import (
	"fmt"
	"net"
	"net/netip"
)

// CheckListen refuses an address to listen on that other machines could reach,
// unless insecure allows it. It is for agents without TLS.
func CheckListen(addr string, insecure bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen address %q: %w", addr, err)
	}
	if insecure || host == "localhost" {
		return nil
	}
	// A name may resolve to anything by the time it is used; only numbers count.
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("listen address %q can be reached from other machines, and anyone there could run databases here: use TLS, use a loopback address, or pass --insecure", addr)
}
