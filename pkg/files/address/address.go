// Package address defines machine addresses: how they are written, and when two of them mean the
// same machine.
//
// Addresses are inserted into configuration files and arguments of databases. Accepted addresses
// contain no characters that have a special meaning there.
package address

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/coreos/dbtester/pkg/files/pattern"
)

// Maximum lengths in bytes of a host name, by RFC 1123, and of an interface name on Linux.
const (
	maxName = 253
	maxZone = 15
)

var (
	label = pattern.New(`^[0-9A-Za-z]([0-9A-Za-z-]{0,61}[0-9A-Za-z])?$`)
	// number matches a last label a resolver would parse as part of an IPv4 address.
	number = pattern.New(`^([0-9]+|0[xX][0-9A-Fa-f]*)$`)
	zone   = pattern.New(`^[0-9A-Za-z][0-9A-Za-z._-]*$`)
)

// Check returns an error if s is neither an IP address nor a host name by RFC 1123. The zone of an
// IPv6 address must be an interface name.
func Check(s string) error {
	if ip, err := netip.ParseAddr(s); err == nil {
		if z := ip.Zone(); z != "" && (len(z) > maxZone || !zone().MatchString(z)) {
			return fmt.Errorf("zone must be the name of an interface, got %q", z)
		}
		return nil
	}
	labels := strings.Split(s, ".")
	for _, l := range labels {
		if !label().MatchString(l) || len(s) > maxName {
			return fmt.Errorf("address must be an IP address or a host name, got %s", quoted(s))
		}
	}
	if number().MatchString(labels[len(labels)-1]) {
		return fmt.Errorf("address must be an IP address or a host name, got %s", quoted(s))
	}
	return nil
}

// CheckMember checks like [Check], for an address a member listens on. It rejects the unspecified
// address, which means all interfaces.
func CheckMember(s string) error {
	if err := Check(s); err != nil {
		return err
	}
	if ip, err := netip.ParseAddr(s); err == nil && ip.Unmap().WithZone("").IsUnspecified() {
		return fmt.Errorf("address must belong to one machine, got %s, which opens the member to every network", s)
	}
	return nil
}

// CheckZone returns an error if the zone of s is not an interface on this machine. Addresses
// without a zone pass.
func CheckZone(s string) error {
	ip, err := netip.ParseAddr(s)
	if err != nil || ip.Zone() == "" {
		return nil
	}
	if _, err := net.InterfaceByName(ip.Zone()); err != nil {
		return errors.Join(fmt.Errorf("zone must be an interface of this machine, got %q", ip.Zone()), err)
	}
	return nil
}

// Canonical returns the canonical spelling of an address, for comparisons: IP addresses in their
// shortest form, names in lower case, and 127.0.0.1 for localhost. It resolves no names.
func Canonical(s string) string {
	if ip, err := netip.ParseAddr(s); err == nil {
		return ip.Unmap().String()
	}
	if s = strings.ToLower(s); s == "localhost" {
		return "127.0.0.1"
	}
	return s
}

// quoted returns the beginning of text in quotes.
func quoted(s string) string {
	if len(s) > 80 {
		return fmt.Sprintf("%q...", s[:80])
	}
	return fmt.Sprintf("%q", s)
}
