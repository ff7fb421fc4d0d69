package agent

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/member"
)

// resolveTimeout bounds the lookup of a member's name.
const resolveTimeout = 5 * time.Second

// Hold implements [fault.Victim].
func (a *attended) Hold(id string, held io.Closer) { a.held[id] = held }

// Held implements [fault.Victim].
func (a *attended) Held(id string) io.Closer { return a.held[id] }

// LetGo implements [fault.Victim].
func (a *attended) LetGo(id string) error {
	held := a.held[id]
	delete(a.held, id)
	if held == nil {
		return nil
	}
	return held.Close()
}

// Network implements [fault.Victim].
func (a *attended) Network() (fault.Network, error) {
	p := a.p
	n := fault.Network{Name: "dbtester-" + p.grouping.run + "-" + p.grouping.name, Member: p.member.Index, Shared: sharesMachine(p.member)}
	if parent := p.grouping.parent; parent != nil && p.grouping.group != nil {
		n.Group = parent.Unified(p.grouping.run, p.grouping.name)
	}
	for i, h := range p.member.Hosts {
		addrs, err := addressesOf(h.Addr)
		if err != nil {
			return n, fmt.Errorf("find member %d: %w", i+1, err)
		}
		host := fault.Host{Addrs: addrs}
		for role, port := range h.Ports {
			if role == "client" {
				host.Client = uint16(port)
			} else {
				host.Members = append(host.Members, uint16(port))
			}
		}
		n.Hosts = append(n.Hosts, host)
		if n.Group != "" {
			n.Groups = append(n.Groups, p.grouping.parent.Unified(p.grouping.run, p.grouping.nameOf(i)))
		}
	}
	return n, nil
}

// addressesOf returns the addresses of host.
func addressesOf(host string) (addrs []netip.Addr, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	for _, a := range found {
		addrs = append(addrs, a.Unmap().WithZone(""))
	}
	return addrs, nil
}

// sharesMachine reports whether other members have addresses on this machine. The source of a
// packet then does not show who sent it.
func sharesMachine(m database.Member) bool {
	own := map[netip.Addr]bool{}
	if list, err := net.InterfaceAddrs(); err == nil {
		for _, a := range list {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				own[p.Addr().Unmap()] = true
			}
		}
	}
	for i, h := range m.Hosts {
		if i == m.Index {
			continue
		}
		addrs, err := addressesOf(h.Addr)
		if err != nil {
			continue // not this machine: its names are known here
		}
		for _, a := range addrs {
			if a.IsLoopback() || own[a] {
				return true
			}
		}
	}
	return false
}

// attended is the member of a session while it runs, and the victim of its faults. Only the session
// goroutine uses it.
type attended struct {
	life
	member *member.Member // that ran last
	// held are the resources that faults need until they are over, by their ids.
	held map[string]io.Closer
	// endedBy is the fault that ended the member and that starts it again when undone. If "", the
	// end of any fault starts a member that has ended itself.
	endedBy string
}
