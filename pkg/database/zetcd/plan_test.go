package zetcd

import (
	"net"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
)

// An address never becomes a flag for the proxy, which gets only its own and its member's address.
func FuzzPlan(f *testing.F) {
	for _, seed := range []string{"10.0.0.1", "::1", "fe80::1%eth0", "db-1.example.org", "-zkaddr=:1", "a,b", "a b\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, addr string) {
		hosts := Database().Info.FillPorts([]database.Host{{Addr: addr}, {Addr: "10.0.0.2"}})
		plan, err := New().Plan(database.Member{Hosts: hosts, Dir: "/data", Tools: map[string]string{Name: "/opt/zetcd", "etcd": "/opt/etcd"}})
		if err != nil {
			t.Skip("the etcd refuses it")
		}
		args := plan.Commands[len(plan.Commands)-1].Args
		if len(args) != 5 || args[0] != "-zkaddr" || args[2] != "-endpoints" || args[4] != "-logtostderr" {
			t.Fatalf("arguments %q, want those of one proxy", args)
		}
		for i, port := range map[int]string{1: "2181", 3: "2379"} {
			if args[i] != net.JoinHostPort(addr, port) {
				t.Errorf("argument %q, want the address %q with port %s", args[i], addr, port)
			}
		}
	})
}
