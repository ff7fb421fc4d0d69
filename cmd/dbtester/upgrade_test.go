package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/databasetest"
)

// TestRollingUpgrade upgrades three etcd members to the built-in release during a load. A busy
// machine may make the load invalid, but each member returns with the new release on its data.
func TestRollingUpgrade(t *testing.T) {
	notShort(t)
	t.Parallel()
	const before = "3.6.16"
	after := etcd.Database().Info.Embedded
	databasetest.Release(t, etcd.Database(), before)
	p, hosts := newPlace(t), freeHosts(t)
	file := p.file("upgrade.yaml", fmt.Sprintf(`
title: upgrade
results: %s
hosts: [%s]
load: {operation: write, rate: 50, duration: 24s, clients: 9, connections: 9, key_size: 16, value_size: 32, timeout: 2s, failover: next}
faults: [{kind: restart, member: each, at: 3s, gap: 2s, version: v%s}]
plots: [AVG-THROUGHPUT]
databases:
  etcd: {version: v%s, options: {log_level: error}}
`, p.path("results"), strings.Join(hosts, ", "), after, before))
	p.wantFaults(3, func() *command { return p.start("control", "--local", "--config", file) })
	for _, m := range manifest(t, p.runs()[0]).Databases[0].Members {
		u, err := faults.Upgraded().Of(m.Records)
		if err != nil || m.Version != before || u.From != before || u.To != after || m.Release == nil || m.Release.Version != before {
			t.Errorf("member %d of release %+v ran %s and was upgraded %+v (%v)", m.Index+1, m.Release, m.Version, u, err)
		}
	}
}
