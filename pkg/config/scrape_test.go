package config

import (
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/ability/membermetrics"
	"github.com/coreos/dbtester/pkg/database"
)

// reporting is an etcd whose members report metrics.
type reporting struct {
	NotDriven `yaml:"-"`
	Fast      bool `yaml:"fast" doc:"an option"`
}

func (*reporting) Reports(database.Target, int) database.MetricsSource {
	return database.MetricsSource{}
}

// Clusters given by endpoints are asked by default, those that agents start are not.
func TestScrape(t *testing.T) {
	const url = "http://{host}:2381/metrics"
	catalog := testCatalog()
	catalog[0].New = func() database.Driver { return &reporting{} }
	for _, tc := range []struct {
		name, text string
		want       membermetrics.Plan
		problem    string
	}{
		{"agents", "hosts: [a]\ndatabases: {etcd: }\n", membermetrics.Plan{}, ""},
		{"endpoints", "databases: {etcd: {endpoints: ['a:1']}}\n", membermetrics.Plan{Every: 10 * time.Second}, ""},
		{"for all", "scrape: {every: 1s}\ndatabases: {etcd: {endpoints: ['a:1']}}\n", membermetrics.Plan{Every: time.Second}, ""},
		{"for all that run", "scrape: {every: 1s}\nhosts: [a]\ndatabases: {etcd: }\n", membermetrics.Plan{}, ""},
		{"key by key", "scrape: {every: 1s}\ndatabases: {etcd: {endpoints: ['a:1'], scrape: {url: '" + url + "'}}}\n", membermetrics.Plan{Every: time.Second, URL: url}, ""},
		{"proxies", "scrape: {every: 1s}\ndatabases: {zetcd: {endpoints: ['a:1']}}\n", membermetrics.Plan{}, ""},
		{"agents, asked for there", "hosts: [a]\ndatabases: {etcd: {scrape: {every: 5s}}}\n", membermetrics.Plan{}, "test.yaml:2:28: scrape: control reads the metrics of a cluster that is already running"},
		{"proxies, asked for there", "databases: {zetcd: {endpoints: ['a:1'], scrape: {every: 5s}}}\n", membermetrics.Plan{}, "test.yaml:1:49: scrape: members of zetcd report no metrics"},
		{"too often", "scrape: {every: 10ms}\ndatabases: {etcd: {endpoints: ['a:1']}}\n", membermetrics.Plan{}, "test.yaml:1:17: every must be from 1s to 10m0s, got 10ms"},
		{"one place for all", "scrape: {url: 'http://a/metrics'}\ndatabases: {etcd: {endpoints: ['a:1']}}\n", membermetrics.Plan{}, "test.yaml:1:15: url must have {host}"},
		{"a password", "scrape: {url: 'http://me:word@{host}/metrics'}\ndatabases: {etcd: {endpoints: ['a:1']}}\n", membermetrics.Plan{}, "test.yaml:1:15: url must have no user"},
	} {
		e := wantPlan(t, membermetrics.Keys(), catalog, tc.name, tc.text, tc.want, tc.problem)
		if e == nil {
			continue
		}
		shown, err := Show(e)
		if err != nil {
			t.Fatalf("%s: show: %v", tc.name, err)
		}
		if again, _, err := Parse("shown", shown, catalog); err != nil || membermetrics.Keys().Of(again.Databases[0].Abilities) != tc.want {
			t.Errorf("%s: shown and read again it must be the same, got %v\n%s", tc.name, err, shown)
		}
	}
}
