package control

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// Members restart with another release, which is installed before the load and recorded. A member
// that then reports another version than the release is found.
func TestUpgrade(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRigOf(t, releasedRegistry(t), "restart")
	rec, list := r.faulted(1, func(rest time.Duration) string {
		return fmt.Sprintf(`
load: {rate: 100, duration: %v, clients: 6, connections: 6, timeout: 1s, key_size: 16, value_size: 32}
faults: [{kind: restart, member: 2, at: 2s, version: v1.1.0}]
databases: {released: {version: v1.0.0, install: true}}
`, 3*time.Second+rest)
	})
	if list[0].Version != "v1.1.0" {
		t.Fatalf("faults %+v", list)
	}
	// The script for 1.1.0 runs the fake, which reports version 1.0.0.
	const want = "the member runs 1.0.0, not v1.1.0"
	if list[0].Failed != want {
		t.Errorf("the upgrade failed with %q, want %q", list[0].Failed, want)
	}
	marked := false
	for _, m := range rec.run.Validity {
		marked = marked || m.Code == mark.FaultFailed
	}
	if !marked {
		t.Errorf("marks %+v, want that of a fault that failed", rec.run.Validity)
	}
	u, err := faults.Upgraded().Of(rec.run.Members[1].Records)
	if err != nil || u.From != "1.0.0" || u.To != "1.0.0" || u.Release == nil || u.Release.Version != "1.1.0" {
		t.Errorf("the member was upgraded %+v, %v; want from and to 1.0.0, with the release 1.1.0", u, err)
	}
}

// Releases that members cannot be upgraded to are refused before anything starts, with their
// places.
func TestUpgradeRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ what, databases, version, problem string }{
		{"not installed", "{released: {version: v1.0.0}}", "v1.1.0", "released v1.1.0 is not installed here"},
		{"cannot be installed", "{released: {version: v1.0.0, install: true}}", "v1.1.9", "the fake has no version 1.1.9"},
	} {
		r := newRigOf(t, releasedRegistry(t), "restart")
		e := r.experiment("load: {rate: 10, duration: 60s}\nfaults: [{kind: restart, member: each, at: 2s, version: " + tc.version + "}]\ndatabases: " + tc.databases + "\n")
		if err := Check(context.Background(), r.options(e, nil)); err == nil || !strings.Contains(err.Error(), tc.problem) {
			t.Errorf("%s: dry run: %v, want %q", tc.what, err, tc.problem)
		}
		r.mustBeIdle()
	}
	r := newRigOf(t, releasedRegistry(t), "restart")
	e := r.experiment("load: {rate: 10, duration: 60s}\nfaults: [{kind: restart, member: each, at: 2s, version: v1.1.0}]\ndatabases: {released: {version: v1.0.0, install: true}}\n")
	e.Databases[0].UseVersion = "v1.2.0"
	if err := Check(context.Background(), r.options(e, nil)); err == nil || !strings.Contains(err.Error(), "1.1.0 comes before 1.2.0") {
		t.Errorf("with --use-version: %v, want that it is a downgrade", err)
	}
}
