package run

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/results"
)

// group is one physical counter source and the machines that read it.
type group struct {
	members []int  // server indexes
	client  string // the load issuer on this machine: "client", "generator" or ""
}

// shared describes which machines share the source; "" if only one machine reads it.
func (g group) shared() string {
	switch {
	case len(g.members) > 1 && g.client != "":
		return fmt.Sprintf("shared by %d members + %s", len(g.members), g.client)
	case len(g.members) > 1:
		return fmt.Sprintf("shared by %d members", len(g.members))
	case g.client != "":
		return "shared by 1 member + " + g.client
	}
	return ""
}

// sharing finds out which machines in a run are the same.
type sharing struct {
	machines *Machines
	info     *Info
}

func (r *Run) sharing() sharing { return sharing{&r.Machines, &r.Info} }

// groups groups the servers by the physical source that key finds in their last samples.
func (s sharing) groups(key Source) []group {
	client := ""
	if last, ok := s.machines.Client.Samples.Last(); ok {
		client = key(last)
	}
	return s.groupBy(client, func(i int) string {
		if last, ok := s.machines.Servers[i].Samples.Last(); ok {
			return key(last)
		}
		return ""
	})
}

// groupBy groups the servers by name; client is the name of the client. A server without a name is
// a group by itself.
func (s sharing) groupBy(client string, nameOf func(server int) string) []group {
	var out []group
	place := map[string]int{}
	for i := range s.machines.Servers {
		name := nameOf(i)
		at, known := place[name]
		if name == "" || !known {
			at = len(out)
			out = append(out, group{})
			if name != "" {
				place[name] = at
			}
		}
		out[at].members = append(out[at].members, i)
		if issuer := s.issuerAt(i, name != "" && client == name); issuer != "" {
			out[at].client = issuer
		}
	}
	return out
}

// issuerAt returns the load issuer on a server's machine, or "". In a run with generators control
// issues no load, so its machine does not count.
func (s sharing) issuerAt(server int, client bool) string {
	generators := s.info.Record.Generators
	boot := s.bootOf(server)
	switch {
	case !s.info.Record.ByGenerators() && client:
		return "client"
	case boot != "" && slices.ContainsFunc(generators, func(g results.Generator) bool { return g.Host != nil && g.Host.BootID == boot }):
		return "generator"
	}
	return ""
}

// ServerSum sums the growth of a counter over the servers. A physical source shared by several
// servers is counted once, and the sum is marked.
func (r *Run) ServerSum(key Source, get Counter) Measure {
	if len(r.Machines.Servers) == 0 {
		return noServer
	}
	sum := Measured(0, 0)
	for _, g := range r.sharing().groups(key) {
		one := r.Machines.growthOfAny(g.members, r.Windows.Load, get)
		if !one.Known() {
			return one
		}
		sum.Value += one.Value
		sum.N += one.N
		sum.Marks = append(sum.Marks, one.Marks...)
		if s := g.shared(); s != "" {
			sum.Marks = append(sum.Marks, s+": counted once")
		}
	}
	sum.Marks = Distinct(sum.Marks)
	return sum
}

// growthOfAny returns the growth at the first server that has one. All the given servers read the
// same counter.
func (m *Machines) growthOfAny(members []int, load Span, get Counter) Measure {
	var first Measure
	for n, i := range members {
		grown := m.Servers[i].Growth(load, get)
		if grown.Known() {
			return grown
		}
		if n == 0 {
			first = grown
		}
	}
	return first
}

// hosts groups the members by machine.
func (s sharing) hosts() []group { return s.groupBy(s.clientBoot(), s.bootOf) }

// clientBoot is the boot id of the client machine; "" if not recorded.
func (s sharing) clientBoot() string {
	if last, ok := s.machines.Client.Samples.Last(); ok && host(last) != "" {
		return host(last)
	}
	if s.info.Manifest != nil {
		return s.info.Manifest.Client.BootID
	}
	return ""
}

// bootOf identifies a member's machine: the boot id from its samples or agent, or the client's if
// the member has a loopback address; "" if unknown.
func (s sharing) bootOf(server int) string {
	if last, ok := s.machines.Servers[server].Samples.Last(); ok && host(last) != "" {
		return host(last)
	}
	if server >= len(s.info.Record.Members) {
		return ""
	}
	m := s.info.Record.Members[server]
	switch ip := net.ParseIP(m.Addr); {
	case m.Host != nil && m.Host.BootID != "":
		return m.Host.BootID
	case ip != nil && ip.IsLoopback():
		return s.clientBoot()
	}
	return ""
}

// SharedHost describes which members share a host with one another, the client or a generator; ""
// if no member does. known is false if the records identify no member's machine.
func (r *Run) SharedHost() (text string, known bool) {
	var parts []string
	for _, g := range r.sharing().hosts() {
		if s := g.shared(); s != "" {
			parts = append(parts, s)
		}
	}
	for i := range r.Machines.Servers {
		known = known || r.sharing().bootOf(i) != ""
	}
	return strings.Join(Distinct(parts), "; "), known
}
