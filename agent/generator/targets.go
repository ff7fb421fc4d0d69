package generator

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/files/pattern"
)

// Targets are the addresses a generator may connect to, whoever sends the request. The zero value
// allows no address.
type Targets struct {
	reserved bool
	ranges   []netip.Prefix // IPv4 addresses are not written as IPv6
	names    []string       // in lower case
	texts    []string       // as the user wrote them
}

// Reserved is the text in [ParseTargets] for the members that control reserves at their agents.
// Control's claim about which members these are is trusted.
const Reserved = "reserved"

// hostName matches host names.
var hostName = pattern.New(`^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$`)

// ParseTargets parses [Reserved], address ranges such as 10.0.0.0/24, addresses, and host names. A
// name allows endpoints with that name, whatever its addresses are.
func ParseTargets(texts []string) (Targets, error) {
	t := Targets{texts: texts}
	var errs []error
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if addr, no := netip.ParseAddr(text); no == nil && addr.Zone() == "" {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		switch {
		case text == Reserved:
			t.reserved = true
		case err == nil:
			if prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
				prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
			}
			t.ranges = append(t.ranges, prefix.Masked())
		case strings.ContainsAny(text, "/:") || !hostName().MatchString(text) || allDigits(text):
			errs = append(errs, fmt.Errorf("must be %s, a range of addresses such as 10.0.0.0/24, an address or a host name without a port, got %q", Reserved, text))
		default:
			t.names = append(t.names, strings.ToLower(text))
		}
	}
	return t, errors.Join(errs...)
}

// allDigits reports whether name is an address with a mistake, such as 10.0.0.256.
func allDigits(name string) bool { return strings.Trim(name, "0123456789.") == "" }

// check returns why a generator may not connect to one of some endpoints, each HOST:PORT. Control
// reserves members on the hosts in reserved.
func (t Targets) check(endpoints, reserved []string) error {
	var refused []string
	for _, e := range endpoints {
		host, _, err := net.SplitHostPort(e)
		if err != nil {
			return status.Errorf(codes.InvalidArgument, "an endpoint must be HOST:PORT: %v", err)
		}
		allowed := t.has(host) || t.reserved && slices.ContainsFunc(reserved, func(r string) bool { return sameHost(r, host) })
		if one := rangeOf(host); !allowed && !slices.Contains(refused, one) {
			refused = append(refused, one)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return status.Errorf(codes.PermissionDenied, "this generator may not connect to %s (allowed: %s): if it may, start its agent with --allow-targets %s",
		strings.Join(refused, ", "), cmp.Or(strings.Join(t.texts, ", "), "nothing"), strings.Join(slices.Concat(t.texts, refused), ","))
}

// has reports whether the ranges and names include a host.
func (t Targets) has(host string) bool {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return slices.Contains(t.names, strings.ToLower(host))
	}
	return slices.ContainsFunc(t.ranges, func(p netip.Prefix) bool { return p.Contains(addr.Unmap()) }) // no range has an address with a zone
}

// sameHost reports whether two hosts are the same address or the same name.
func sameHost(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	if errX != nil || errY != nil {
		return strings.EqualFold(a, b)
	}
	return x.Unmap() == y.Unmap()
}

// rangeOf returns a host as the flag takes it.
func rangeOf(host string) string {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	addr = addr.Unmap().WithZone("")
	return netip.PrefixFrom(addr, addr.BitLen()).String()
}
