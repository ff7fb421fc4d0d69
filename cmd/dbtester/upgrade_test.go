package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	reading "github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/mark"
)

// TestRollingUpgrade upgrades three members of etcd to the built-in release during a load. A
// busy machine may make the load invalid, but each member returns with the new release on its
// data.
func TestRollingUpgrade(t *testing.T) {
	notShort(t)
	t.Parallel()
	const before = "3.6.16"
	after := etcd.Database().Info.Embedded
	databasetest.Release(t, etcd.Database(), before)
	p, hosts := newPlace(t), freeHosts(t)
	file := p.path("upgrade.yaml")
	text := fmt.Sprintf(`
title: upgrade
results: %s
hosts: [%s]
load: {operation: write, rate: 50, duration: 31s, clients: 9, connections: 9, key_size: 16, value_size: 32, timeout: 2s, failover: next}
faults: [{kind: restart, member: each, at: 3s, gap: 2s, version: v%s}]
plots: [AVG-THROUGHPUT]
databases:
  etcd: {version: v%s, options: {log_level: error}}
`, p.path("results"), strings.Join(hosts, ", "), after, before)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatalf("write the experiment: %v", err)
	}
	c := p.start("control", "--local", "--config", file)
	<-c.ended
	if code := c.cmd.ProcessState.ExitCode(); code != 0 && code != exitInvalid {
		t.Fatalf("exit code %d", code)
	}
	runs, err := reading.FromFolder(p.runs()[0].Path())
	if err != nil || len(runs) != 1 {
		t.Fatalf("read the records: %d runs, %v", len(runs), err)
	}
	record := runs[0].Info.Record
	list, err := faults.Record().Of(record.Records)
	if err != nil || len(list) != 3 {
		t.Fatalf("faults %+v, %v", list, err)
	}
	for _, h := range list {
		if h.Failed != "" {
			t.Errorf("fault %+v", h)
		}
	}
	for _, m := range record.Members {
		u, err := faults.Upgraded().Of(m.Records)
		if err != nil || m.Version != before || u.From != before || u.To != after || m.Release == nil || m.Release.Version != before {
			t.Errorf("member %d of release %+v ran %s and was upgraded %+v (%v)", m.Index+1, m.Release, m.Version, u, err)
		}
	}
	for _, m := range record.Validity {
		if m.Code == mark.Lost || m.Code == mark.FaultFailed || m.Code == mark.Keys {
			t.Errorf("mark %s: %s", m.Code, m.Text)
		}
	}
}
