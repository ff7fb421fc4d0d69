package lookup_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/coreos/dbtester/control/before/lookup"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/workload"
)

// answers is a resolver whose names have addresses from some lookup on.
type answers struct {
	names map[string]string // addresses by name, separated by spaces
	from  int               // the first question that is answered, from 0
	asked int
}

func (a *answers) LookupNetIP(_ context.Context, _, host string) (list []netip.Addr, err error) {
	text, ok := a.names[host]
	if a.asked++; a.asked <= a.from || !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	for _, s := range strings.Fields(text) {
		list = append(list, netip.MustParseAddr(s))
	}
	return list, nil
}

// experiment has databases with hosts, which are names if they contain a letter.
func experiment(databases ...[]string) *config.Experiment {
	e := &config.Experiment{}
	for _, hosts := range databases {
		var db config.Database
		for _, h := range hosts {
			host := config.Host{Addr: h, AgentPort: 3500}
			if strings.ContainsAny(h, "abcdefghijklmnopqrstuvwxyz") {
				host.DNS = h
			}
			db.Hosts = append(db.Hosts, host)
		}
		e.Databases = append(e.Databases, db)
	}
	return e
}

// written returns the members and agents of e, by database.
func written(e *config.Experiment) string {
	var all []string
	for _, db := range e.Databases {
		var list []string
		for _, h := range db.Hosts {
			list = append(list, h.Addr+"="+h.Agent())
		}
		all = append(all, strings.Join(list, " "))
	}
	return strings.Join(all, "; ")
}

func TestHosts(t *testing.T) {
	names := map[string]string{
		"a-0.agent": "10.0.0.9", "a-1.agent": "10.0.0.4", "agent": "10.0.0.30 10.0.0.4 10.0.0.9", "both": "fd00::1 10.0.0.7", "six": "fd00::2 fd00::1", "twice": "10.0.0.8 10.0.0.8",
	}
	for _, test := range []struct {
		name string
		e    *config.Experiment
		want string
	}{
		{"names of one machine keep their order", experiment([]string{"a-0.agent", "a-1.agent"}), "10.0.0.9=a-0.agent:3500 10.0.0.4=a-1.agent:3500"},
		{"mentions are addresses in order", experiment([]string{"agent", "agent", "agent"}), "10.0.0.4=10.0.0.4:3500 10.0.0.9=10.0.0.9:3500 10.0.0.30=10.0.0.30:3500"},
		{"each database begins anew", experiment([]string{"agent"}, []string{"agent", "agent"}), "10.0.0.4=10.0.0.4:3500; 10.0.0.4=10.0.0.4:3500 10.0.0.9=10.0.0.9:3500"},
		{"addresses stay", experiment([]string{"10.1.0.1", "a-0.agent"}), "10.1.0.1=10.1.0.1:3500 10.0.0.9=a-0.agent:3500"},
		{"two families", experiment([]string{"both"}), "10.0.0.7=both:3500"},
		{"IPv6", experiment([]string{"six", "six"}), "fd00::1=[fd00::1]:3500 fd00::2=[fd00::2]:3500"},
		{"one address given twice", experiment([]string{"twice"}), "10.0.0.8=twice:3500"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := written(test.e)
			got, err := lookup.Hosts(t.Context(), test.e, lookup.Options{Resolver: &answers{names: names}})
			if err != nil {
				t.Fatalf("look up the hosts: %v", err)
			}
			if text := written(got); text != test.want {
				t.Errorf("members and agents are %s, want %s", text, test.want)
			}
			if after := written(test.e); after != before {
				t.Errorf("the experiment was changed from %s to %s", before, after)
			}
		})
	}
}

// Loads that target a member by name target its address.
func TestTarget(t *testing.T) {
	e := experiment([]string{"a-0.agent", "a-1.agent"})
	e.Databases[0].Load = workload.Load{Route: workload.Route{Target: "a-1.agent"}}
	got, err := lookup.Hosts(t.Context(), e, lookup.Options{Resolver: &answers{names: map[string]string{"a-0.agent": "10.0.0.9", "a-1.agent": "10.0.0.4"}}})
	if err != nil || got.Databases[0].Load.Target != "10.0.0.4" || e.Databases[0].Load.Target != "a-1.agent" {
		t.Errorf("target %q, before %q, %v; want the address, and the file's unchanged", got.Databases[0].Load.Target, e.Databases[0].Load.Target, err)
	}
}

// Generators are looked up as members are.
func TestGenerators(t *testing.T) {
	e := experiment([]string{"10.0.0.1"})
	e.Generators = []config.Host{{Addr: "g-0", DNS: "g-0", AgentPort: 3500}, {Addr: "10.0.0.2", AgentPort: 3500}}
	got, err := lookup.Hosts(t.Context(), e, lookup.Options{Resolver: &answers{names: map[string]string{"g-0": "10.0.0.9"}}})
	if err != nil || got.Generators[0].Addr != "10.0.0.9" || got.Generators[0].Agent() != "g-0:3500" || got.Generators[1].Addr != "10.0.0.2" || e.Generators[0].Addr != "g-0" {
		t.Errorf("%+v, before %+v, %v; want the address of the first", got, e.Generators, err)
	}
}

// An experiment without names looks up nothing.
func TestNoNames(t *testing.T) {
	e, r := experiment([]string{"10.0.0.1"}), &answers{}
	if got, err := lookup.Hosts(t.Context(), e, lookup.Options{Resolver: r}); err != nil || got != e || r.asked != 0 {
		t.Errorf("%v after %d questions, %v; want the same experiment and none", got, r.asked, err)
	}
}

func TestErrors(t *testing.T) {
	r := &answers{names: map[string]string{"agent": "10.0.0.30 10.0.0.4"}}
	for _, test := range []struct {
		hosts []string
		want  string
	}{
		{[]string{"agent", "agent", "agent"}, "hosts: agent has too few addresses: 2 of 3 (10.0.0.4, 10.0.0.30)"},
		{[]string{"agent"}, "hosts: agent has 2 addresses (10.0.0.4, 10.0.0.30) but stands for one host: give members, or the name of one machine"},
		{[]string{"b", "a"}, "hosts: look up a: lookup a: no such host\nhosts: look up b: lookup b: no such host"},
	} {
		if _, err := lookup.Hosts(t.Context(), experiment(test.hosts), lookup.Options{Resolver: r}); err == nil || err.Error() != test.want {
			t.Errorf("%q: %v, want %s", test.hosts, err, test.want)
		}
	}
}

// stale is a resolver whose first answers belong to a deleted pod.
type stale struct{ before, after answers }

func (s *stale) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if s.before.asked < len(s.before.names) {
		return s.before.LookupNetIP(ctx, network, host)
	}
	return s.after.LookupNetIP(ctx, network, host)
}

// Two members at one address and port mean an old answer: names are looked up again.
func TestStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answered := func() *stale {
			return &stale{
				before: answers{names: map[string]string{"a-0.agent": "10.0.0.4", "a-1.agent": "10.0.0.4"}},
				after:  answers{names: map[string]string{"a-0.agent": "10.0.0.9", "a-1.agent": "10.0.0.4"}},
			}
		}
		e := experiment([]string{"a-0.agent", "a-1.agent"})
		got, err := lookup.Hosts(t.Context(), e, lookup.Options{Resolver: answered(), Wait: 10 * time.Second})
		if want := "10.0.0.9=a-0.agent:3500 10.0.0.4=a-1.agent:3500"; err != nil || written(got) != want {
			t.Errorf("%v, want %s", err, want)
		}
		const want = "hosts: look up a-1.agent: 10.0.0.4 is also the address of a-0.agent, with the same port"
		if _, err := lookup.Hosts(t.Context(), e, lookup.Options{Resolver: answered()}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		e.Databases[0].Hosts[1].AgentPort = 3600
		got, err = lookup.Hosts(t.Context(), e, lookup.Options{Resolver: answered()})
		if want := "10.0.0.4=a-0.agent:3500 10.0.0.4=a-1.agent:3600"; err != nil || written(got) != want {
			t.Errorf("two agents of one machine: %v, want %s", err, want)
		}
		e = experiment([]string{"10.0.0.4", "a-1.agent"})
		if _, err := lookup.Hosts(t.Context(), e, lookup.Options{Resolver: answered()}); err == nil || !strings.Contains(err.Error(), "a-1.agent: 10.0.0.4 is also the address of 10.0.0.4,") {
			t.Errorf("a name with the address of another host: %v, want an error", err)
		}
	})
}

// Names may get their addresses while control waits for them.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []string
		o := lookup.Options{Resolver: &answers{names: map[string]string{"agent": "10.0.0.4"}, from: 3}, Wait: 10 * time.Second, Report: func(s string) { reports = append(reports, s) }}
		start := time.Now()
		got, err := lookup.Hosts(t.Context(), experiment([]string{"agent"}), o)
		if err != nil || written(got) != "10.0.0.4=agent:3500" || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %v; want the address after three seconds", err, time.Since(start))
		}
		if len(reports) != 1 || !strings.Contains(reports[0], "10s") || !strings.Contains(reports[0], "no such host") {
			t.Errorf("reports %q, want one with the bound and the reason", reports)
		}
		start = time.Now()
		o.Resolver = &answers{}
		if _, err := lookup.Hosts(t.Context(), experiment([]string{"agent"}), o); err == nil || time.Since(start) > 10*time.Second || time.Since(start) < 9*time.Second {
			t.Errorf("%v after %v; want an error at the end of ten seconds", err, time.Since(start))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		over := errors.New("over")
		time.AfterFunc(1500*time.Millisecond, func() { cancel(over) })
		if _, err := lookup.Hosts(ctx, experiment([]string{"agent"}), o); !errors.Is(err, over) {
			t.Errorf("%v, want the cause of the context's end", err)
		}
	})
}

// TestServer queries a DNS server, as in a cluster: the name of a headless Service has the
// addresses of all pods, and each pod name its own.
func TestServer(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen on the address: %v", err)
	}
	served := make(chan error, 1)
	var asked atomic.Int64
	go func() {
		served <- serveDNS(conn, &asked, map[string][][4]byte{"agent.bench.svc.": {{10, 88, 2, 3}, {10, 88, 1, 2}}, "agent-1.agent.bench.svc.": {{10, 88, 2, 3}}})
	}()
	defer func() {
		conn.Close()
		if err := <-served; !errors.Is(err, net.ErrClosed) {
			t.Errorf("serve names: %v", err)
		}
	}()
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	e := experiment([]string{"agent.bench.svc.", "agent.bench.svc."}, []string{"agent-1.agent.bench.svc."})
	got, err := lookup.Hosts(t.Context(), e, lookup.Options{Resolver: r})
	if asked.Load() == 0 {
		t.Logf("this machine's resolver asks no server (/etc/nsswitch.conf): %v", err)
		return
	}
	if want := "10.88.1.2=10.88.1.2:3500 10.88.2.3=10.88.2.3:3500; 10.88.2.3=agent-1.agent.bench.svc.:3500"; err != nil || written(got) != want {
		t.Fatalf("look up the hosts: %v, want %s", err, want)
	}
	if _, err := lookup.Hosts(t.Context(), experiment([]string{"agent-7.agent.bench.svc."}), lookup.Options{Resolver: r}); err == nil || !strings.Contains(err.Error(), "no such host") {
		t.Errorf("a name that the server does not know: %v, want an error that says so", err)
	}
}

// serveDNS answers queries for IPv4 addresses until the connection is closed, and counts them.
// Unknown names do not exist.
func serveDNS(conn net.PacketConn, asked *atomic.Int64, names map[string][][4]byte) error {
	buf := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return err
		}
		asked.Add(1)
		var m dnsmessage.Message
		if err := m.Unpack(buf[:n]); err != nil || len(m.Questions) != 1 {
			return fmt.Errorf("a question with %d names: %w", len(m.Questions), err)
		}
		q := m.Questions[0]
		reply := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionAvailable: true}, Questions: m.Questions}
		addresses, ok := names[q.Name.String()]
		if !ok {
			reply.RCode = dnsmessage.RCodeNameError
		}
		if q.Type == dnsmessage.TypeA {
			for _, a := range addresses {
				reply.Answers = append(reply.Answers, dnsmessage.Resource{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET, TTL: 5},
					Body:   &dnsmessage.AResource{A: a},
				})
			}
		}
		packed, err := reply.Pack()
		if err != nil {
			return err
		}
		if _, err := conn.WriteTo(packed, from); err != nil {
			return err
		}
	}
}
