package run

import (
	"fmt"
	"math"
	"testing"

	"github.com/coreos/dbtester/analyze/run/packed"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// TestSharedHost: a member shares its machine with the load issuer there: the client or, in a run
// with generators, only these, wherever control runs.
func TestSharedHost(t *testing.T) {
	t.Parallel()
	on := func(boot string) *results.Host { return &results.Host{BootID: boot} }
	for _, tc := range []struct {
		name       string
		generators []string // machines
		mark       bool     // about a shared machine
		want       string
		shares     bool
	}{
		{name: "the client", want: "shared by 2 members + client", shares: true},
		{name: "control beside members, generators elsewhere", generators: []string{"x", "y"}, want: "shared by 2 members"},
		{name: "generators on one machine", generators: []string{"x", "x"}, mark: true, want: "shared by 2 members"},
		{name: "a generator beside one member", generators: []string{"x", "b"}, mark: true, want: "shared by 2 members; shared by 1 member + generator", shares: true},
		{name: "a generator beside both others", generators: []string{"a"}, mark: true, want: "shared by 2 members + generator", shares: true},
	} {
		r := &Run{}
		r.Info.Manifest = &results.Manifest{Client: results.Host{BootID: "a"}}
		r.Info.Record = &results.DatabaseRun{}
		r.Machines.Servers = make([]Machine, 3)
		for i, boot := range []string{"a", "a", "b"} {
			r.Info.Record.Members = append(r.Info.Record.Members, results.Member{Index: i, Host: on(boot)})
		}
		for _, boot := range tc.generators {
			r.Info.Record.Generators = append(r.Info.Record.Generators, results.Generator{Host: on(boot)})
		}
		if tc.mark {
			r.Info.Record.Validity = []results.Mark{{Code: mark.SharedHost, Text: "two generators share a machine"}}
		}
		text, known := r.SharedHost()
		if text != tc.want || !known || r.ClientShares() != tc.shares {
			t.Errorf("%s: %q (known %v), the client shares: %v; want %q and %v", tc.name, text, known, r.ClientShares(), tc.want, tc.shares)
		}
	}
}

// TestUsedAt: processor time by members and the client on one machine is added up, without the
// processor time on other machines.
func TestUsedAt(t *testing.T) {
	used := func(boot string, perSecond float64) packed.Samples {
		var samples []results.Sample
		for second := range 11 {
			s := runtest.Sampled(float64(second), 1, perSecond*float64(second), 10)
			s.BootID = boot
			s.Set(metric.CPUSeconds, perSecond*float64(second))
			samples = append(samples, s)
		}
		return packed.Of(samples...)
	}
	r := &Run{}
	r.Info.Record = &results.DatabaseRun{}
	r.Machines.Client = Machine{Name: "client", Samples: used("a", .5)}
	for i, boot := range []string{"a", "a", "b"} {
		r.Machines.Servers = append(r.Machines.Servers, Machine{Name: fmt.Sprintf("member %d", i+1), Samples: used(boot, .25)})
	}
	at := r.Machines.Client.Samples.Times
	whole := []Span{{at[1], at[9]}}
	for member, want := range []float64{1, 1, .25} {
		if got := r.UsedAt(member, whole); !got.Known() || math.Abs(got.Value-want) > 1e-9 {
			t.Errorf("beside member %d %+v processors were used, want %g", member+1, got, want)
		}
	}
	// Generators issue the load in place of control.
	r.Info.Record.Generators = []results.Generator{{Host: &results.Host{BootID: "a"}}}
	if got := r.UsedAt(0, whole); !got.Known() || math.Abs(got.Value-.5) > 1e-9 {
		t.Errorf("beside a generator %+v processors were used, want those of two members", got)
	}
}
