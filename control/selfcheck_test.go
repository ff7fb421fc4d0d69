package control

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/machine/sysmetrics"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// TestSelfCheck checks the manifest for a run with a self-check.
func TestSelfCheck(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	host, err := sysmetrics.HostFacts()
	if err != nil {
		t.Fatalf("describe this machine: %v", err)
	}
	for name, change := range map[string]struct {
		host func(*results.Host)
		want string // the text of the mark
	}{
		"here":          {func(*results.Host) {}, ""},
		"elsewhere":     {func(h *results.Host) { h.Name = "other" }, "the self-check is of another machine (other, "},
		"started again": {func(h *results.Host) { h.BootID = "boot-0" }, "from before this one was started again, so it says nothing about this client"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			wait := results.Spread{N: 100, P50: 1000, P99: 2000, Max: 3000}
			o := r.options(r.experiment(small+"databases: {fake: {}}\n"), nil)
			o.SelfCheck = &results.SelfCheck{
				Date: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), Tool: results.Tool{Version: "v1", Go: "go"}, Host: host,
				HighestRate: 1000, TimerLateness: wait, ClientLateness: wait,
			}
			change.host(&o.SelfCheck.Host)
			out, err := Run(t.Context(), o)
			if err != nil || len(ofRun(out.Invalid)) > 0 {
				t.Fatalf("%v, invalid %q", err, out.Invalid)
			}
			m := r.read(out.Folders[0], 0).manifest
			if diff := cmp.Diff(o.SelfCheck, m.SelfCheck); diff != "" {
				t.Errorf("the manifest's (-want +got):\n%s", diff)
			}
			switch {
			case change.want == "" && len(m.Validity) == 0:
			case len(m.Validity) == 1 && m.Validity[0].Code == mark.SelfCheck && !m.Validity[0].Invalid && strings.Contains(m.Validity[0].Text, change.want):
			default:
				t.Errorf("marks %+v, want %q", m.Validity, change.want)
			}
		})
	}
}

// TestSelfCheckOfLoads: loads that cannot be checked, or whose check fails, still run, and the
// manifest has the reason.
func TestSelfCheckOfLoads(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for db, want := range map[string]string{
		"fake: {}":                            "not available for fake",
		"etcd: {options: {log_level: error}}": "the check failed: wait for the server",
	} {
		r := newRigOf(t, database.NewRegistry(fake.Database(), etcd.Database()))
		o := r.options(r.experiment(small+"databases: {"+db+"}\n"), nil)
		o.Mirror = []string{"/bin/false"}
		out, err := Run(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: run without a self-check: %v", db, err)
		}
		check := r.read(out.Folders[0], 0).manifest.Databases[0].SelfCheck
		if check == nil || !strings.HasPrefix(check.Unavailable, want) || check.P50.N != 0 {
			t.Errorf("%s: the manifest has %+v, want the reason %q", db, check, want)
		}
	}
}
