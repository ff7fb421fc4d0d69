package run

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/results"
)

// group is one physical source of counters and the machines that read it.
type group struct {
	members []int  // indices of servers
	client  string // what issues load there: "client", "generator", or "" if nothing does
}

// shared describes who shares the source, "" if only one machine reads it.
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

// groups sorts the servers by the physical source that key names in their last
// samples.
func (r *Run) groups(key Source) []group {
	client := ""
	if last, ok := r.Machines.Client.Samples.Last(); ok {
		client = key(last)
	}
	return r.groupBy(client, func(i int) string {
		if last, ok := r.Machines.Servers[i].Samples.Last(); ok {
			return key(last)
		}
		return ""
	})
}

// groupBy sorts the servers by a name; client is the client's name. A server without a
// name has a group of its own.
func (r *Run) groupBy(client string, nameOf func(server int) string) []group {
	var out []group
	place := map[string]int{}
	for i := range r.Machines.Servers {
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
		if issuer := r.issuerAt(i, name != "" && client == name); issuer != "" {
			out[at].client = issuer
		}
	}
	return out
}

// issuerAt is what issues load on a server's machine, "" if nothing does. With generators
// control issues nothing, wherever it runs.
func (r *Run) issuerAt(server int, client bool) string {
	generators := r.Info.Record.Generators
	boot := r.bootOf(server)
	switch {
	case len(generators) == 0 && client:
		return "client"
	case boot != "" && slices.ContainsFunc(generators, func(g results.Generator) bool { return g.Host != nil && g.Host.BootID == boot }):
		return "generator"
	}
	return ""
}

// ServerSum adds a counter's growth over the servers. A physical source that several
// servers share counts once, which is a mark.
func (r *Run) ServerSum(key Source, get Counter) Measure {
	if len(r.Machines.Servers) == 0 {
		return noServer
	}
	sum := Measured(0, 0)
	for _, g := range r.groups(key) {
		one := r.growthOfAny(g.members, get)
		if !one.Known() {
			return one
		}
		sum.Value += one.Value
		sum.N += one.N
		if s := g.shared(); s != "" {
			sum.Marks = append(sum.Marks, s+": counted once")
		}
	}
	sum.Marks = Distinct(sum.Marks)
	return sum
}

// growthOfAny returns the growth at the first server that has one: all of them read
// the same counter.
func (r *Run) growthOfAny(members []int, get Counter) Measure {
	var first Measure
	for n, i := range members {
		m := r.Machines.Servers[i].Growth(r.Windows.Load, get)
		if m.Known() {
			return m
		}
		if n == 0 {
			first = m
		}
	}
	return first
}

// hosts groups the members by machine.
func (r *Run) hosts() []group { return r.groupBy(r.clientBoot(), r.bootOf) }

// clientBoot is the boot id of the client's machine, "" if it was not recorded.
func (r *Run) clientBoot() string {
	if last, ok := r.Machines.Client.Samples.Last(); ok && host(last) != "" {
		return host(last)
	}
	if r.Info.Manifest != nil {
		return r.Info.Manifest.Client.BootID
	}
	return ""
}

// bootOf is the boot id of a member's machine, "" if it is not known: from its samples,
// from its agent, or the client's if the member has a loopback address.
func (r *Run) bootOf(server int) string {
	if last, ok := r.Machines.Servers[server].Samples.Last(); ok && host(last) != "" {
		return host(last)
	}
	if server >= len(r.Info.Record.Members) {
		return ""
	}
	m := r.Info.Record.Members[server]
	switch ip := net.ParseIP(m.Addr); {
	case m.Host != nil && m.Host.BootID != "":
		return m.Host.BootID
	case ip != nil && ip.IsLoopback():
		return r.clientBoot()
	}
	return ""
}

// SharedHost describes which members share a host with each other, with the client or with
// a generator, "" if none does. Known is false if the records name no member's machine.
func (r *Run) SharedHost() (text string, known bool) {
	var parts []string
	for _, g := range r.hosts() {
		if s := g.shared(); s != "" {
			parts = append(parts, s)
		}
	}
	for i := range r.Machines.Servers {
		known = known || r.bootOf(i) != ""
	}
	return strings.Join(Distinct(parts), "; "), known
}
