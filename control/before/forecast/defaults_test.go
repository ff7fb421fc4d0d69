package forecast_test

import (
	"maps"
	"testing"

	"github.com/coreos/dbtester/pkg/config"
)

// TestDefaults: the options depend on the release if the file asks for that, and options in the
// file take precedence. The shown file gives the same options again.
func TestDefaults(t *testing.T) {
	t.Parallel()
	e := parse(t, "requests: 10, clients: 1",
		"etcd__new: {defaults: upstream}, etcd__old: {version: v3.5.35, defaults: upstream, options: {election_timeout: 2s}}, etcd__own: {defaults: dbtester}, consul: {defaults: upstream, options: {raft_multiplier: 2}}")
	for i, want := range []map[string]string{
		{"snapshot_count": "10000", "quota_backend_bytes": "0", "election_timeout": "1s", "transport": "lean"},
		{"snapshot_count": "100000", "quota_backend_bytes": "0", "election_timeout": "2s"},
		{"snapshot_count": "100000", "quota_backend_bytes": "8000000000"},
		{"raft_multiplier": "2", "http_max_conns_per_client": "200"},
	} {
		got := e.Databases[i].OptionTexts()
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s: option %s is %q, want %q", e.Databases[i].ID, name, got[name], value)
			}
		}
	}
	text, err := config.Show(e)
	if err != nil {
		t.Fatalf("show the experiment: %v", err)
	}
	again := parseText(t, string(text))
	for i := range e.Databases {
		if was, is := &e.Databases[i], &again.Databases[i]; was.Defaults != is.Defaults || !maps.Equal(was.OptionTexts(), is.OptionTexts()) {
			t.Errorf("%s: shown and read again it has defaults %q and options %v, want %q and %v", was.ID, is.Defaults, is.OptionTexts(), was.Defaults, was.OptionTexts())
		}
	}
}
