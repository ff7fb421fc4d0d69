package control

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// TestHostsRotate has another machine as the first member in each trial.
func TestHostsRotate(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	out := r.mustRun(r.experiment(small+"trials: 4\nsettle: 0s\ndatabases: {fake: {}}"), nil)
	var first []string
	for _, folder := range out.Folders {
		members := r.read(folder, 0).run.Members
		first = append(first, members[0].Agent)
		if len(members) != 3 || members[1].Agent == members[0].Agent || members[0].Index != 0 {
			t.Errorf("trial %d: want three members on different hosts, numbered from 0, got %+v", len(first), members)
		}
	}
	if len(first) != 4 || first[0] == first[1] || first[1] == first[2] || first[0] == first[2] || first[0] != first[3] {
		t.Errorf("want each of three hosts as the first member once, and the first one again in the fourth trial, got %v", first)
	}
}

// TestHostsStay keeps the member order in trials that find or leave members running.
func TestHostsStay(t *testing.T) {
	t.Parallel()
	hosts := []config.Host{{Addr: "a"}, {Addr: "b"}}
	for name, db := range map[string]config.Database{
		"started before": {Hosts: hosts, Steps: config.Steps{Stop: true}},
		"left running":   {Hosts: hosts, Steps: config.Steps{Start: true}},
		"endpoints":      {Hosts: hosts, Endpoints: []string{"a:1"}, Steps: config.Steps{Start: true, Stop: true}},
	} {
		if diff := cmp.Diff(hosts, rotated(&db, 2).Hosts); diff != "" {
			t.Errorf("%s: want the order as it was, got (-want +got):\n%s", name, diff)
		}
	}
}

// Each of two databases is first in half the trials, so their runs are pairs, and each database
// begins equally often.
func TestInTurns(t *testing.T) {
	t.Parallel()
	for n := 2; n <= 5; n++ {
		var list []int
		for i := range n {
			list = append(list, i)
		}
		before := map[[2]int]int{}
		for trial := 1; trial <= 2*n; trial++ {
			order := inTurns(list, trial)
			for i, a := range order {
				for _, b := range order[i+1:] {
					before[[2]int{a, b}]++
				}
			}
			if len(order) != n {
				t.Fatalf("trial %d of %d databases has the order %v", trial, n, order)
			}
		}
		for pair, times := range before {
			if times != n {
				t.Errorf("%d databases: %d is before %d in %d of %d trials, want half", n, pair[0], pair[1], times, 2*n)
			}
		}
	}
	if inTurns([]int(nil), 1) != nil {
		t.Error("no database has an order")
	}
}
