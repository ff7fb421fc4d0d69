package config

import (
	"net"
	"net/netip"
	"regexp"
	"strconv"
)

func joinHostPort(host string, port int) string {
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// hostName matches the names of machines: letters, digits, hyphens, in labels
// joined by dots. A name of digits and dots alone is a broken IP address.
var hostName = regexp.MustCompile(`^([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.?$`)

var onlyDigits = regexp.MustCompile(`^[0-9.]+$`)

// isAddress reports whether s is an IP address or can be a host name.
func isAddress(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	return len(s) <= 253 && hostName.MatchString(s) && !onlyDigits.MatchString(s)
}
