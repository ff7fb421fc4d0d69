package analyze

import (
	"fmt"
	"strings"
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

// groups sorts the servers by the physical source that key names. Servers whose
// source is not known count as one of their own.
func (c *column) groups(key source) []group {
	var out []group
	place := map[string]int{}
	for i, m := range c.servers {
		name := ""
		if len(m.samples) > 0 {
			name = key(m.samples[len(m.samples)-1])
		}
		at, known := place[name]
		if name == "" || !known {
			at = len(out)
			out = append(out, group{client: name != "" && c.clientSource(key) == name})
			if name != "" {
				place[name] = at
			}
		}
		out[at].members = append(out[at].members, i)
	}
	return out
}

func (c *column) clientSource(key source) string {
	if n := len(c.client.samples); n > 0 {
		return key(c.client.samples[n-1])
	}
	return ""
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

// sharedHost says which members share a host with each other or the client, ""
// if none does.
func (c *column) sharedHost() (text string, known bool) {
	var parts []string
	for _, g := range c.groups(host) {
		if s := g.shared(); s != "" {
			parts = append(parts, s)
		}
	}
	for _, m := range c.servers {
		known = known || len(m.samples) > 0 && host(m.samples[0]) != ""
	}
	return strings.Join(distinct(parts), "; "), known
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
