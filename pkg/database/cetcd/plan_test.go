package cetcd

import (
	"encoding/json"
	"net"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

func members(addrs ...string) database.Member {
	hosts := make([]database.Host, len(addrs))
	for i, a := range addrs {
		hosts[i].Addr = a
	}
	return database.Member{Hosts: Database().Info.FillPorts(hosts), Dir: "/var/lib/dbtester/member"}
}

// With both executables nothing in this binary runs.
func TestPlanOfTools(t *testing.T) {
	m := members("10.0.0.1", "10.0.0.2", "10.0.0.3")
	m.Index, m.Tools = 1, map[string]string{Name: "/opt/cetcd", etcd.Name: "/opt/etcd"}
	plan, err := New().Plan(m)
	if err != nil {
		t.Fatalf("plan a member: %v", err)
	}
	data, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		t.Fatalf("encode as JSON: %v", err)
	}
	databasetest.Golden(t, "testdata/plan-tools.json", append(data, '\n'))
}

func TestPlanRefuses(t *testing.T) {
	m := members("10.0.0.1")
	m.Index = 1
	if _, err := New().Plan(m); err == nil {
		t.Error("a member that is not among the hosts has a plan")
	}
	m.Index, m.TLS, m.Tools = 0, &database.TLS{}, map[string]string{Name: "/opt/cetcd"}
	if _, err := New().Plan(m); err == nil {
		t.Error("the cetcd executable is asked for TLS")
	}
}

// The proxy reads the arguments a plan gives it.
func TestFlags(t *testing.T) {
	plan, err := New().Plan(members("::1"))
	if err != nil {
		t.Fatalf("plan a member: %v", err)
	}
	f, err := parseFlags(plan.Commands[1].Args[1:])
	if err != nil || f.addr != "[::1]:8500" || f.endpoint != "[::1]:2379" || f.tls != nil {
		t.Errorf("flags %+v: %v", f, err)
	}
	for _, args := range []string{
		"", "-etcd http://a:1", "-consuladdr a:1", "-etcd a -consuladdr a:1", "-etcd http://a:1 -consuladdr a:1 more", "-bogus",
		"-etcd https://a:1 -consuladdr a:1 -ca /no/such/file",
	} {
		if f, err := parseFlags(strings.Fields(args)); err == nil {
			t.Errorf("%q is read as %+v", args, f)
		}
	}
}

func TestOptions(t *testing.T) {
	o := New()
	if err := o.Validate(database.HostFacts{}); err != nil {
		t.Errorf("validate the options: %v", err)
	}
	if err := yamlfile.DecodeOptions([]byte("{snapshot_count: 0, transport: none}"), o); err != nil {
		t.Fatalf("decode options: %v", err)
	}
	err := o.Validate(database.HostFacts{})
	for _, part := range []string{"snapshot_count must be at least 1, got 0", `transport must be lean or standard, got "none"`} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v lacks %q", err, part)
		}
	}
	if o.UnsafeNoFsync = true; o.Fsync() == Database().Info.Fsync {
		t.Errorf("without fsync: %q", o.Fsync())
	}
	if recipes, err := o.Recipes("3.6.16"); err != nil || len(recipes) == 0 {
		t.Errorf("%d recipes: %v", len(recipes), err)
	}
}

// An address never becomes a flag: the proxy reads back the planned addresses.
func FuzzPlan(f *testing.F) {
	for _, seed := range []string{"10.0.0.1", "::1", "fe80::1%eth0", "db-1.example.org", "-etcd=http://a:1", "a b\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, addr string) {
		plan, err := New().Plan(members(addr))
		if err != nil {
			t.Skip("the etcd refuses it")
		}
		flags, err := parseFlags(plan.Commands[1].Args[1:])
		if err != nil {
			return // the proxy refuses it
		}
		if want := net.JoinHostPort(addr, "8500"); flags.addr != want || flags.tls != nil {
			t.Errorf("the proxy listens on %q with TLS %v, want %q without", flags.addr, flags.tls, want)
		}
	})
}
