package etcd

import (
	neturl "net/url"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
)

// planArgs returns the flags for the first of two members, by name.
func planArgs(t *testing.T, dir, addr string) map[string]string {
	t.Helper()
	hosts := Database().Info.FillPorts([]database.Host{{Addr: addr}, {Addr: "10.0.0.2"}})
	plan, err := New().Plan(database.Member{Index: 0, Hosts: hosts, Dir: dir})
	if err != nil {
		t.Fatalf("make the plan: %v", err)
	}
	flags := map[string]string{}
	for _, arg := range plan.Commands[0].Args[1:] {
		name, value, ok := strings.Cut(arg, "=")
		if _, twice := flags[name]; twice || !ok || !strings.HasPrefix(name, "--") {
			t.Fatalf("argument %q: want each flag once, as --NAME=VALUE", arg)
		}
		flags[name] = value
	}
	return flags
}

// The text in a directory name or an address never becomes a flag or a member, and every URL reads
// back as the given address.
func FuzzPlan(f *testing.F) {
	for _, seed := range [][2]string{{"/data/m", "10.0.0.1"}, {"/data/a b --x=1", "fe80::1%eth0"}, {"/é", "::1"}, {"/x", "db-1.example.org"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, dir, addr string) {
		if strings.ContainsAny(addr, ",/?#@[] \"<>\\^`{|}=") || addr == "" || !strings.HasPrefix(dir, "/") || strings.HasSuffix(dir, "/") || strings.Contains(dir, "//") || strings.Contains(dir, "/.") {
			t.Skip("no address that the agent accepts, or no cleaned path")
		}
		want, got := planArgs(t, "/data", "10.0.0.1"), planArgs(t, dir, addr)
		if len(got) != len(want) {
			t.Errorf("%d flags, want %d: %q", len(got), len(want), got)
		}
		if got["--data-dir"] != dir+"/data" {
			t.Errorf("--data-dir=%q, want %q", got["--data-dir"], dir+"/data")
		}
		if n := strings.Count(got["--initial-cluster"], ","); n != 1 {
			t.Errorf("--initial-cluster=%q names %d members, want 2", got["--initial-cluster"], n+1)
		}
		if u, err := neturl.Parse(got["--listen-client-urls"]); err == nil && !strings.Contains(addr, ":") && u.Hostname() != addr {
			t.Errorf("--listen-client-urls=%q is of host %q, want %q", got["--listen-client-urls"], u.Hostname(), addr)
		}
	})
}

func TestPlanZone(t *testing.T) {
	u, err := neturl.Parse(planArgs(t, "/data", "fe80::1%eth0")["--listen-client-urls"])
	if err != nil || u.Hostname() != "fe80::1%eth0" {
		t.Errorf("the URL of an address with a zone is %v (%v), want one of host fe80::1%%eth0", u, err)
	}
}
