package control

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestSweep runs a fresh cluster for each member count, and rates as steps in one load. The records
// have the points.
func TestSweep(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	out := r.mustRun(r.experiment(small+"sweep: {members: [1, 3]}\nneed: {rate: 5/s, latency: 3s}\ndatabases: {fake: {}}"), nil)
	var got []string
	for n := range 2 {
		rec := r.read(out.Folders[0], n)
		got = append(got, fmt.Sprintf("%s: %d members, %s %s of %s", rec.run.Tag, len(rec.run.Members), rec.run.Swept.Key, rec.run.Swept.Text, rec.run.Swept.Of))
		if rec.run.Keys.Before != 0 {
			t.Errorf("%s: the cluster had %d keys, want a fresh one", rec.run.Tag, rec.run.Keys.Before)
		}
		if n := rec.manifest.Need; n == nil || n.Rate != 5 || n.Latency != 3*time.Second {
			t.Errorf("the need is recorded as %+v", n)
		}
	}
	if diff := cmp.Diff([]string{"fake-members-1: 1 members, members 1 of fake", "fake-members-3: 3 members, members 3 of fake"}, got); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
	load := strings.Replace(small, "requests: 300", "requests: 60", 1)
	rec := r.read(r.mustRun(r.experiment(load+"sweep: {rate: [300, 600]}\ndatabases: {fake: {}}"), nil).Folders[0], 0)
	var steps []string
	for _, s := range rec.run.Steps {
		steps = append(steps, fmt.Sprintf("%v down %v: %d", s.Rate, s.Down, s.Requests))
	}
	if diff := cmp.Diff([]string{"300 down false: 60", "600 down false: 60", "300 down true: 60"}, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if rec.run.Swept == nil || rec.run.Swept.Key != workload.SweepRate || rec.run.Totals.OK != 180 {
		t.Errorf("swept %+v, totals %+v", rec.run.Swept, rec.run.Totals)
	}
}
