package zetcd

import (
	"slices"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
)

// Version and leader come from the etcd behind each proxy, on its own port.
func TestBehind(t *testing.T) {
	hosts := Database().Info.FillPorts([]database.Host{{Addr: "10.0.0.1"}, {Addr: "::1", Ports: map[string]int{roleEtcdClient: 12379}}})
	name, driver, target := New().Behind(hosts)
	if want := []string{"10.0.0.1:2379", "[::1]:12379"}; name != "etcd" || !slices.Equal(target.Endpoints, want) || target.Prefer != -1 {
		t.Errorf("behind is %s at %+v, want etcd at %q", name, target, want)
	}
	if _, ok := driver.(database.Versioner); !ok {
		t.Error("the driver does not ask for versions")
	}
	if _, ok := driver.(database.Leader); !ok {
		t.Error("the driver does not ask for the leader")
	}
}
