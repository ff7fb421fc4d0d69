package yamlfile

import (
	"net"
	"strconv"

	"github.com/coreos/dbtester/pkg/files/address"
)

// Address reads a machine address: an IP address or a host name.
func Address(r *Reader, key string, node *Node) (string, bool) {
	s, ok := Text(r, key, node)
	return s, ok && CheckAddress(r, key, node, s)
}

// CheckAddress reports an invalid machine address.
func CheckAddress(r *Reader, key string, node *Node, s string) bool {
	switch {
	case address.Check(s) != nil:
		r.Errorf(node, "%s: want an IP address or a host name, got %q", key, s)
		return false
	case address.CheckMember(s) != nil:
		r.Errorf(node, "%s: want the address of one machine, got %q, which is every address of a machine", key, s)
		return false
	}
	return true
}

// Endpoint reads an address with a port: host:port.
func Endpoint(r *Reader, key string, node *Node) (string, bool) {
	s, ok := Text(r, key, node)
	if !ok {
		return "", false
	}
	host, port, err := net.SplitHostPort(s)
	if n, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || n == 0 || address.CheckMember(host) != nil {
		r.Errorf(node, "%s: want host:port, got %s", key, Describe(node))
		return "", false
	}
	return s, true
}
