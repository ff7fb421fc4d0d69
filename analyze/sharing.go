package analyze

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/results"
)

// group is one physical source of counters and the machines that were sampled
// on it.
type group struct {
	members []int // indices of servers
	client  bool
}

// shared says who shares the group, "" if nobody does.
func (g group) shared() string {
	switch {
	case len(g.members) > 1 && g.client:
		return fmt.Sprintf("shared by %d members + client", len(g.members))
	case len(g.members) > 1:
		return fmt.Sprintf("shared by %d members", len(g.members))
	case g.client:
		return "shared by 1 member + client"
	}
	return ""
}

// groups sorts the servers by the physical source that key names, as their last
// samples have it.
func (c *column) groups(key source) []group {
	client := ""
	if n := len(c.client.samples); n > 0 {
		client = key(c.client.samples[n-1])
	}
	return c.groupBy(client, func(i int) string {
		if n := len(c.servers[i].samples); n > 0 {
			return key(c.servers[i].samples[n-1])
		}
		return ""
	})
}

// groupBy sorts the servers by a name; client is the client's. Servers whose name
// is not known count as one of their own.
func (c *column) groupBy(client string, nameOf func(server int) string) []group {
	var out []group
	place := map[string]int{}
	for i := range c.servers {
		name := nameOf(i)
		at, known := place[name]
		if name == "" || !known {
			at = len(out)
			out = append(out, group{client: name != "" && client == name})
			if name != "" {
				place[name] = at
			}
		}
		out[at].members = append(out[at].members, i)
	}
	return out
}

// serverSum adds a counter's growth over the servers, each physical source once.
func (c *column) serverSum(key source, get counter) (sum float64, n int64, marks []string, missing string) {
	if len(c.servers) == 0 {
		return 0, 0, nil, "no server was sampled"
	}
	for _, g := range c.groups(key) {
		value, samples, why := c.first(g.members, get)
		if why != "" {
			return 0, 0, nil, why
		}
		sum += value
		n += samples
		if s := g.shared(); s != "" {
			marks = append(marks, s+": counted once")
		}
	}
	return sum, n, distinct(marks), ""
}

// first is the growth at the first of several servers that has one: they read
// the same counter.
func (c *column) first(members []int, get counter) (value float64, n int64, missing string) {
	for _, i := range members {
		v, samples, why := c.servers[i].growth(c.window, get)
		if why == "" {
			return v, samples, ""
		}
		if missing == "" {
			missing = why
		}
	}
	return 0, 0, missing
}

// hosts are the groups of members by machine.
func (c *column) hosts() []group { return c.groupBy(c.clientBoot(), c.bootOf) }

// clientBoot names the client's machine, "" if that is not known.
func (c *column) clientBoot() string {
	if n := len(c.client.samples); n > 0 && host(c.client.samples[n-1]) != "" {
		return host(c.client.samples[n-1])
	}
	if c.manifest != nil {
		return c.manifest.Client.BootID
	}
	return ""
}

// bootOf names a member's machine, "" if that is not known: by its samples, by
// what its agent said, or because the client reached it on a loopback address.
func (c *column) bootOf(server int) string {
	if n := len(c.servers[server].samples); n > 0 && host(c.servers[server].samples[n-1]) != "" {
		return host(c.servers[server].samples[n-1])
	}
	if server >= len(c.run.Members) {
		return ""
	}
	m := c.run.Members[server]
	switch ip := net.ParseIP(m.Addr); {
	case m.Host != nil && m.Host.BootID != "":
		return m.Host.BootID
	case ip != nil && ip.IsLoopback():
		return c.clientBoot()
	}
	return ""
}

// sharedHost says which members share a host with each other or the client, ""
// if none does.
func (c *column) sharedHost() (text string, known bool) {
	var parts []string
	for _, g := range c.hosts() {
		if s := g.shared(); s != "" {
			parts = append(parts, s)
		}
	}
	for i := range c.servers {
		known = known || c.bootOf(i) != ""
	}
	return strings.Join(distinct(parts), "; "), known
}

// sharedHostCode marks a client that shares a machine with a member.
const sharedHostCode = "shared host"

func isSharedHost(m results.Mark) bool { return m.Code == sharedHostCode }

// sharedHostMark is the mark of such a client in a run that did not live to be
// judged, nil if there is nothing to say.
func (c *column) sharedHostMark() *results.Mark {
	shares := slices.ContainsFunc(c.hosts(), func(g group) bool { return g.client })
	if !shares || slices.ContainsFunc(c.run.Validity, isSharedHost) {
		return nil
	}
	return &results.Mark{Code: sharedHostCode, Text: "the client and at least one member share a machine: they compete for its processors, disk and network"}
}

// distinct returns the strings without repetitions, in their order.
func distinct(list []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
