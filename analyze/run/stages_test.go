package run

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestChanges: steps are named by their differences.
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

// TestByClientsLeavesOutTheWayBack: the seconds at a client count are those on the way up, whether
// or not they are whole.
func TestByClientsLeavesOutTheWayBack(t *testing.T) {
	window := func(from, to, clients int64, down bool) Window {
		span := Span{from * 1e8, to * 1e8}
		return Window{Span: span, Issued: span, Clients: int(clients), Down: down}
	}
	r := &Run{PooledStages: true, Windows: Windows{Measured: []Window{
		window(1000, 1030, 1, false), window(1030, 1034, 2, false), window(1034, 1060, 5, false), window(1061, 1065, 2, true), window(1065, 1090, 1, true),
	}}}
	for _, s := range []struct{ unix, clients int64 }{
		{100, 1}, {101, 1}, {102, 1}, {103, 2}, {103, 5}, {104, 5}, {105, 5}, {106, 5}, {106, 2}, {106, 1}, {107, 1}, {108, 1}, {109, 1},
	} {
		r.Load.Seconds = append(r.Load.Seconds, Second{Unix: s.unix, Clients: int(s.clients), OK: float64(s.unix)})
	}
	got, throughput := map[int]map[int64]bool{}, map[int]float64{}
	for _, g := range r.ByClients() {
		got[g.Clients], throughput[g.Clients] = g.Unix, g.Throughput.Value
	}
	want := map[int]map[int64]bool{1: {100: true, 101: true, 102: true}, 2: {103: true}, 5: {104: true, 105: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("seconds by clients (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[int]float64{1: 101, 2: 103, 5: 104.5}, throughput); diff != "" {
		t.Errorf("throughput by clients (-want +got):\n%s", diff)
	}
}
