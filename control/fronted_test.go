package control

import (
	"testing"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake"
)

// fronted is a driver for proxies in front of the fake database.
type fronted struct{ database.Driver }

func (fronted) Behind(hosts []database.Host) (string, database.Driver, database.Target) {
	return "fake", fake.New(), database.Target{Prefer: -1, Endpoints: []string{hosts[0].Addr + ":1"}}
}

// Control does not ask proxies that agents run, but the database behind them. If the cluster ran
// before, its proxies are as unknown as the database behind them.
func TestProxiesAreAskedForWhatIsBehind(t *testing.T) {
	r := &run{db: &config.Database{Hosts: []config.Host{{Addr: "10.0.0.1"}}}, driver: fronted{}, target: database.Target{Endpoints: []string{"10.0.0.1:2"}}}
	if name, driver, target := r.asked(); name != "fake" || target.Endpoints[0] != "10.0.0.1:1" || driver == r.driver {
		t.Errorf("asked are %s, %T at %q", name, driver, target.Endpoints)
	}
	r.db.Endpoints = []string{"10.0.0.1:2"}
	if name, driver, target := r.asked(); name != "" || target.Endpoints[0] != "10.0.0.1:2" || driver != r.driver {
		t.Errorf("of a cluster that ran before, asked are %s, %T at %q", name, driver, target.Endpoints)
	}
}
