package submission

import (
	"net/netip"
	"slices"
	"strings"
)

// publicHosts serve releases. They belong to no user.
var publicHosts = []string{
	"github.com", "etcd.io", "golang.org", "go.dev", "apache.org", "hashicorp.com", "maven.org", "storage.googleapis.com", "gcr.io", "k8s.io",
	"debian.org", "ubuntu.com", "openjdk.org", "kernel.org",
}

func public(host string) bool {
	host = strings.ToLower(host)
	return slices.ContainsFunc(publicHosts, func(p string) bool { return host == p || strings.HasSuffix(host, "."+p) })
}

// host returns the pseudonym for a host name. Its first label and its domains become names as well,
// because texts use them alone.
func (n *names) host(name string) string {
	if addr, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return n.ip(name, addr)
	}
	if strings.EqualFold(name, "localhost") {
		return name
	}
	if isPseudonym(name) {
		n.taken[name] = true
	}
	alias := n.of(kindHost, name)
	short, domain, dotted := strings.Cut(name, ".")
	if dotted {
		n.add(short, alias)
	}
	for strings.Contains(domain, ".") && !public(domain) {
		n.of(kindDomain, domain)
		_, domain, _ = strings.Cut(domain, ".")
	}
	return alias
}

// ip returns the pseudonym for an address. Loopback and unspecified addresses are kept, because all
// machines have them.
func (n *names) ip(text string, addr netip.Addr) string {
	if addr = addr.Unmap(); addr.IsLoopback() || addr.IsUnspecified() {
		return text
	}
	return n.of(kindAddress, strings.Trim(text, "[]"))
}
