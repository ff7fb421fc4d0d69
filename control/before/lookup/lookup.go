// Package lookup replaces DNS names of hosts by their addresses, which are known only where and
// when the experiment runs.
package lookup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/sleep"
)

// pause is the time between two lookups.
const pause = time.Second

// Resolver looks up addresses for names; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options configure how names are looked up.
type Options struct {
	// Resolver looks up names; nil is the resolver on this machine.
	Resolver Resolver
	// Wait is the time for which addresses may be missing: names are looked up again until then. 0
	// looks up once.
	Wait time.Duration
	// Report is called once before the first wait; nil discards the text.
	Report func(text string)
}

// Hosts returns the experiment with addresses in place of names. The first mention of a name among
// the hosts of a database, or among the generators, gets its lowest address, the second mention the
// next one, and so on. A name with only one address keeps naming its agent, so certificates are
// checked by the name. Agents whose name has several addresses are called by address. If a name has
// IPv4 and IPv6 addresses, Hosts takes the IPv4 addresses.
//
// The experiment is not changed: the result is a copy, or e itself without names. The error joins
// the errors for all names: too few addresses for the mentions, several addresses for one mention,
// or another host's address and port.
func Hosts(ctx context.Context, e *config.Experiment, o Options) (*config.Experiment, error) {
	want := mentions(e)
	if len(want) == 0 {
		return e, nil
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	ends := time.Now().Add(o.Wait)
	for first := true; ; first = false {
		found, err := ask(ctx, o.Resolver, want)
		if err == nil {
			named := replace(e, found)
			if err = same(e, named); err == nil {
				return named, nil
			}
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var missing *missingError
		if !errors.As(err, &missing) || time.Now().Add(pause).After(ends) {
			return nil, err
		}
		if first && o.Report != nil {
			o.Report(fmt.Sprintf("wait up to %v for addresses: %v", o.Wait, err))
		}
		if !sleep.For(ctx, pause) {
			return nil, context.Cause(ctx)
		}
	}
}

// mentions returns the number of addresses that each name needs.
func mentions(e *config.Experiment) map[string]int {
	want := map[string]int{}
	for _, hosts := range lists(e) {
		counts := map[string]int{}
		for _, h := range hosts {
			if h.DNS != "" {
				counts[h.DNS]++
			}
		}
		for name, n := range counts {
			want[name] = max(want[name], n)
		}
	}
	return want
}

// lists returns the host lists in e: one for each database, then the generators.
func lists(e *config.Experiment) (all [][]config.Host) {
	for _, db := range e.Databases {
		all = append(all, db.Hosts)
	}
	return append(all, e.Generators)
}

// missingError names a host with too few addresses so far.
type missingError struct {
	name string
	have []netip.Addr
	want int
	err  error // why no address can be used; nil if there are some
}

func (e *missingError) Unwrap() error { return e.err }

func (e *missingError) Error() string {
	switch {
	case e.err != nil:
		return fmt.Sprintf("hosts: look up %s: %v", e.name, e.err)
	case len(e.have) == 0:
		return fmt.Sprintf("hosts: %s has no address", e.name)
	}
	return fmt.Sprintf("hosts: %s has too few addresses: %d of %d (%s)", e.name, len(e.have), e.want, texts(e.have))
}

// ask returns the addresses for every name, lowest first. If an address is missing, the error
// contains a *missingError, unless waiting does not suffice.
func ask(ctx context.Context, r Resolver, want map[string]int) (map[string][]netip.Addr, error) {
	found := map[string][]netip.Addr{}
	var missing, wrong []error
	for _, name := range slices.Sorted(maps.Keys(want)) {
		all, err := r.LookupNetIP(ctx, "ip", name)
		all = family(all)
		switch n := want[name]; {
		case err != nil || len(all) < n:
			missing = append(missing, &missingError{name: name, have: all, want: n, err: err})
		case n == 1 && len(all) > 1:
			wrong = append(wrong, fmt.Errorf("hosts: %s has %d addresses (%s) but stands for one host: give members, or the name of one machine", name, len(all), texts(all)))
		}
		found[name] = all
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return found, errors.Join(missing...)
}

// same returns a *missingError if two hosts in one database, or two generators, have the same
// address and port. A deleted pod may leave its address to another pod before its own name has a
// new one.
func same(e, named *config.Experiment) error {
	before := lists(e)
	for n, hosts := range lists(named) {
		for i, h := range hosts {
			for j, other := range hosts[:i] {
				name, beside := before[n][i].DNS, before[n][j].Addr
				if name == "" {
					name, beside = before[n][j].DNS, before[n][i].Addr
				}
				if name != "" && h.Addr == other.Addr && clash(h, other) {
					return &missingError{name: name, err: fmt.Errorf("%s is also the address of %s, with the same port", h.Addr, beside)}
				}
			}
		}
	}
	return nil
}

// clash reports whether two hosts at one address would listen on one port.
func clash(a, b config.Host) bool {
	if a.AgentPort == b.AgentPort {
		return true
	}
	for _, port := range a.Ports {
		for _, other := range b.Ports {
			if port == other {
				return true
			}
		}
	}
	return false
}

// family returns the IPv4 addresses, or the IPv6 addresses if there are no others, each once and
// in order.
func family(all []netip.Addr) []netip.Addr {
	var four, six []netip.Addr
	for _, a := range all {
		if a = a.Unmap(); a.Is4() {
			four = append(four, a)
		} else {
			six = append(six, a)
		}
	}
	if len(four) == 0 {
		four = six
	}
	slices.SortFunc(four, netip.Addr.Compare)
	return slices.Compact(four)
}

func texts(all []netip.Addr) string {
	var list []string
	for _, a := range all {
		list = append(list, a.String())
	}
	return strings.Join(list, ", ")
}

// replace returns a copy of the experiment with addresses in place of names.
func replace(e *config.Experiment, found map[string][]netip.Addr) *config.Experiment {
	other := *e
	other.Generators, _ = known(e.Generators, found, "")
	other.Databases = slices.Clone(e.Databases)
	for i := range other.Databases {
		db := &other.Databases[i]
		var target string
		db.Hosts, target = known(db.Hosts, found, db.Load.Target)
		db.Load.Target = target
	}
	return &other
}

// known returns hosts with addresses, and the load target, which may name one of the hosts.
func known(hosts []config.Host, found map[string][]netip.Addr, target string) ([]config.Host, string) {
	hosts = slices.Clone(hosts)
	next := map[string]int{}
	for i := range hosts {
		h := &hosts[i]
		if h.DNS == "" {
			continue
		}
		name := h.DNS
		h.Addr = found[name][next[name]].String()
		next[name]++
		if len(found[name]) > 1 {
			h.DNS = "" // it does not name only this agent
		} else if name == target {
			target = h.Addr
		}
	}
	return hosts, target
}
