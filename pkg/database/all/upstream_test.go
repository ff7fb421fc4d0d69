package all

import (
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results/declared"
)

// TestUpstream: with release defaults, a plan differs only in settings that measuring needs. With
// dbtester defaults it differs in the settings that they change.
func TestUpstream(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, version, own, upstream string }{
		{"etcd", "3.6.16", "--snapshot-count=100000 (default 10000), --quota-backend-bytes=8000000000 (default 2147483648)", ""},
		{"etcd", "", "--snapshot-count=100000 (default 10000), --quota-backend-bytes=8000000000 (default 2147483648)", ""},
		{"etcd", "3.5.35", "--quota-backend-bytes=8000000000 (default 2147483648)", ""},
		{"etcd", "3.4.13", "--quota-backend-bytes=8000000000 (default 2147483648), --logger=zap (default capnslog)", "--logger=zap (default capnslog)"},
		{"consul", "1.16.0", "performance.raft_multiplier=1 (default 5), limits.http_max_conns_per_client=8000 (default 200), limits.rpc_max_conns_per_client=8000 (default 100), ",
			"retry_interval=1s (default 30s), disable_update_check=true (default false), telemetry.prometheus_retention_time=24h (default 0s), telemetry.disable_hostname=true (default false)"},
		{"zookeeper", "3.9.5", "-Xms=512M, -Xmx=2G (default 1000m), maxClientCnxns=0 (default 60), clientPortListenBacklog=4096 (default 50), ",
			"jvm.pause.monitor=true (default false), admin.enableServer=false (default true)"},
		{"zookeeper", "3.4.14", "-Xms=512M, -Xmx=2G, maxClientCnxns=0 (default 60), ", "jvm.pause.monitor=true (default false)"},
	} {
		db, err := Registry().Get(tt.name)
		if err != nil {
			t.Fatalf("find the database: %v", err)
		}
		driver := db.New()
		d := driver.(database.Upstream)
		if got := settingsText(d.Changed(tt.version)); !strings.HasPrefix(got, tt.own) {
			t.Errorf("%s %s by dbtester's defaults: %s; want %s at the beginning", tt.name, tt.version, got, tt.own)
		}
		d.SetUpstream(tt.version)
		if got := settingsText(d.Changed(tt.version)); got != tt.upstream {
			t.Errorf("%s %s by its own defaults: %q, want %q", tt.name, tt.version, got, tt.upstream)
		}
		if err := driver.(database.Validator).Validate(database.HostFacts{}); err != nil {
			t.Errorf("%s %s: its own defaults are refused: %v", tt.name, tt.version, err)
		}
	}
}

func settingsText(list []declared.Setting) string {
	var parts []string
	for _, s := range list {
		parts = append(parts, s.String())
	}
	return strings.Join(parts, ", ")
}
