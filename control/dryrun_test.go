package control

import (
	"bytes"
	"testing"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/databasetest"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/database/fake"
)

func TestDryRun(t *testing.T) {
	t.Parallel()
	r := database.NewRegistry(etcd.Database(), fake.Database())
	e, _, err := config.Parse("test.yaml", []byte(`title: Write some keys
seed: 7
trials: 2
hosts: [10.0.0.2, "10.0.0.3:3600", 10.0.0.4]
load: {clients: 1000, key_size: 256, value_size: 1024}
databases:
  etcd: {load: {requests: 1000000, connections: 100}}
  fake__steps:
    load: {steps: [{clients: 1, requests: 1000}, {clients: 10, duration: 30s, rate: 500}, {clients: 10, duration: 10s, rate: 500, rate_end: 1500}]}
    options: {delay: 5ms}
  fake__there:
    endpoints: ["10.0.0.9:7379"]
    load: {operation: read, same_key: true, clients: 10, connections: 10, duration: 1m}
`), Catalog(r))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := DryRun(&out, Options{Experiment: e, Registry: r}); err != nil {
		t.Fatal(err)
	}
	databasetest.Golden(t, "testdata/dryrun.txt", out.Bytes())
}
