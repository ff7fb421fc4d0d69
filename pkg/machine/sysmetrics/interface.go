package sysmetrics

import (
	"bytes"
	"fmt"
	"net"
)

// loopback is the interface for 127.0.0.0/8 and ::1.
const loopback = "lo"

// findInterface returns the interface that carries traffic from or to addr. If addr is empty, it
// returns the default route's interface.
func (f *files) findInterface(addr string) (string, error) {
	if addr == "" {
		return f.defaultInterface()
	}
	ip, err := sourceAddress(addr)
	if err != nil {
		return "", err
	}
	if ip.IsLoopback() {
		return loopback, nil
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		return "", fmt.Errorf("list the network interfaces: %w", err)
	}
	for _, i := range interfaces {
		addrs, err := i.Addrs()
		if err != nil {
			return "", fmt.Errorf("list the addresses of %s: %w", i.Name, err)
		}
		for _, a := range addrs {
			if network, ok := a.(*net.IPNet); ok && network.IP.Equal(ip) {
				return i.Name, nil
			}
		}
	}
	return "", fmt.Errorf("no network interface has address %s", ip)
}

// sourceAddress asks the kernel which address of this machine it would use to reach addr: addr
// itself, if it is such an address. It sends nothing.
func sourceAddress(addr string) (net.IP, error) {
	const discard = "9" // any port will do
	conn, err := net.Dial("udp", net.JoinHostPort(addr, discard))
	if err != nil {
		return nil, fmt.Errorf("find the route to %s: %w", addr, err)
	}
	defer conn.Close()
	local, ok := conn.LocalAddr().(*net.UDPAddr)
	if !ok {
		return nil, fmt.Errorf("find the route to %s: local address %s", addr, conn.LocalAddr())
	}
	return local.IP, nil
}

func (f *files) defaultInterface() (string, error) {
	data, err := f.read("net", "route")
	if err != nil {
		return "", fmt.Errorf("find the default route: %w", err)
	}
	return parseDefaultRoute(data), nil
}

// parseDefaultRoute returns the first default route's interface, or loopback without a default
// route.
func parseDefaultRoute(data []byte) string {
	for line := range bytes.Lines(data) {
		fields := bytes.Fields(line)
		if len(fields) > 7 && string(fields[1]) == "00000000" && string(fields[7]) == "00000000" {
			return string(fields[0])
		}
	}
	return loopback
}
