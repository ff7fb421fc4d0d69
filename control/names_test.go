package control

import (
	"context"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// nameTable resolves the names in it.
type nameTable map[string]string

func (n nameTable) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if _, ok := n[host]; !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr(n[host])}, nil
}

// Hosts that are DNS names are looked up once a run starts. Members have addresses, which
// databases need to listen on, and agents are called by their names, which certificates contain.
func TestHostsByName(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	var hosts strings.Builder
	table := nameTable{}
	for i, a := range r.agents {
		name := "member-" + strconv.Itoa(i) + ".test"
		table[name] = a.host
		hosts.WriteString("- {addr: 'dns:" + name + "', agent_port: 3500, ports: {client: " + strconv.Itoa(a.port) + "}}\n")
	}
	e := r.parse("title: names\nresults: " + r.results + "\nhosts:\n" + hosts.String() + small + "databases: {fake: {}}")
	o := r.options(e, nil)
	o.Resolver = table
	o.Connect = func(ctx context.Context, addr string) (pb.AgentClient, io.Closer, error) {
		name, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, nil, err
		}
		return r.connect(ctx, net.JoinHostPort(table[name], port))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	out, err := dialled(t, func() (*Outcome, error) { return Run(ctx, o) })
	if err != nil {
		t.Fatalf("run the experiment: %v", err)
	}
	for i, m := range r.read(out.Folders[0], 0).run.Members {
		if want := r.agents[i].host; m.Addr != want || table[strings.TrimSuffix(m.Agent, ":3500")] != want {
			t.Errorf("member %d is at %s, its agent at %s; want %s and its name", i+1, m.Addr, m.Agent, want)
		}
	}
	r.mustBeIdle()

	delete(table, "member-1.test")
	if out, err := Run(ctx, o); err == nil || !strings.Contains(err.Error(), "look up member-1.test: ") || len(out.Folders) > 0 {
		t.Errorf("a name without an address: %v, folders %q; want an error that names it, and no run", err, out.Folders)
	}
}
