package run

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestChanges: steps are named by what tells them apart.
func TestChanges(t *testing.T) {
	step := func(i, clients int, rate float64) results.Step {
		return results.Step{Index: i, Step: workload.Step{Clients: clients, Rate: rate}, Start: time.Unix(int64(100+10*i), 0)}
	}
	for name, test := range map[string]struct {
		steps []results.Step
		want  []Change
	}{
		"one step":        {[]results.Step{step(0, 5, 0)}, nil},
		"clients":         {[]results.Step{step(0, 1, 0), step(1, 5, 0)}, []Change{{100e9, "1 client"}, {110e9, "5 clients"}}},
		"rates":           {[]results.Step{step(0, 5, 40), step(1, 5, 80)}, []Change{{100e9, "40/s due"}, {110e9, "80/s due"}}},
		"both":            {[]results.Step{step(0, 1, 40), step(1, 5, 80)}, []Change{{100e9, "1 client, 40/s due"}, {110e9, "5 clients, 80/s due"}}},
		"equal steps":     {[]results.Step{step(0, 5, 0), step(1, 5, 0)}, []Change{{100e9, "step 1"}, {110e9, "step 2"}}},
		"one never began": {[]results.Step{step(0, 1, 0), {Index: 1, Step: workload.Step{Clients: 5}}}, []Change{{100e9, "1 client"}}},
	} {
		r := &Run{Info: Info{Record: &results.DatabaseRun{Steps: test.steps}}}
		for _, s := range test.steps {
			r.Load.Seconds = append(r.Load.Seconds, Second{Unix: s.Start.Unix(), Clients: s.Clients})
		}
		if diff := cmp.Diff(test.want, r.stepChanges()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	r := &Run{Load: Load{Seconds: []Second{{Unix: 7, Clients: 1}, {Unix: 8, Clients: 1}, {Unix: 9, Clients: 5}}}}
	if diff := cmp.Diff([]Change{{7e9, "1 client"}, {9e9, "5 clients"}}, r.clientChanges()); diff != "" {
		t.Errorf("numbers of clients (-want +got):\n%s", diff)
	}
}
