package main

import (
	"os"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// A load without a file equals a run with the printed file. Its keys lie below a prefix for this
// run, and a cleanup removes them.
func TestLoadWithoutFile(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	p := newPlace(t)
	host := freeHosts(t)[0]
	client, peer := "http://"+host+":2379", "http://"+host+":2380"
	etcd := p.start("serve", "etcd", "--data-dir="+p.path("data"), "--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer, "--logger=zap", "--log-outputs=stderr")
	etcd.says("ready to serve client requests")
	args := []string{"load", "etcd", "--endpoints", host + ":2379", "--rate", "50", "--duration", "2s", "--clients", "2"}
	printed := p.start(append(args, "--print-file")...)
	printed.exits(exitDone, patience)
	file := printed.out.String()
	wantText(t, "the file", file, "load:\n  duration: 2s\n  rate: 50\n  clients: 2\ndatabases:\n  etcd:\n    endpoints:\n")
	if err := os.WriteFile(p.path("load.yaml"), []byte(file), 0o600); err != nil {
		t.Fatalf("write the file: %v", err)
	}
	p.start("config", "check", p.path("load.yaml")).exits(exitDone, patience)

	run := p.start(append(args, "--results", p.path("results"))...)
	select { // a slow machine does not keep the rate
	case <-run.ended:
	case <-time.After(patience):
		t.Fatalf("load did not end:\n%s%s", run.out, run.err)
	}
	wantText(t, "standard error", run.err.String(), "(?m)^# dbtester control --config FILE, with this FILE:\ntitle: load of etcd$")
	db := manifest(t, p.runs()[0]).Databases[0]
	if db.State != results.StateComplete || db.Load.Rate != 50 || db.Totals.OK == 0 {
		t.Errorf("the load: %s, %+v, %+v", db.State, db.Load, db.Totals)
	}
	p.start("cleanup", "--results", p.path("results"), "--yes", newestWord).exits(exitDone, patience)
}
