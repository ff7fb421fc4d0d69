package control

import (
	"slices"
	"strings"
	"testing"

	"github.com/coreos/dbtester/control/issue"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
)

// A hundred generators are reserved for one control while another control that wants some is
// refused. After they are released, the other control gets them.
func TestHundredGenerators(t *testing.T) {
	t.Parallel()
	const n = 100
	r := newRig(t)
	e := r.experiment(r.generate(n, true) + "load: {requests: 300, clients: 100, key_size: 32, value_size: 64}\ndatabases: {fake: {}}")
	job := issue.Job{
		Database: "fake", Options: []byte("{}"), Target: database.Target{Endpoints: []string{"127.0.0.1:1"}},
		Spec: load.Spec{Load: e.Databases[0].Load},
	}
	wants := func(run string, addrs []string) *issue.Set {
		return issue.New(issue.Options{Connect: r.connectGenerator, Addrs: addrs, RunID: run, Owner: run})
	}
	giveBack := func(set *issue.Set) {
		t.Helper()
		if err := set.Close(t.Context()); err != nil {
			t.Errorf("give back: %v", err)
		}
	}
	addrs := e.GeneratorAgents()
	first := wants("first", addrs)
	if err := first.Prepare(t.Context(), job); err != nil {
		t.Fatalf("prepare %d generators: %v", n, err)
	}
	known := slices.DeleteFunc(first.Records(), func(g results.Generator) bool { return g.Clock == nil })
	if len(known) != n {
		t.Errorf("the clocks of %d generators are known, want %d", len(known), n)
	}
	second := wants("second", addrs[n/2:])
	if err := second.Prepare(t.Context(), job); err == nil || !strings.Contains(err.Error(), "the generator belongs to first") {
		t.Errorf("a second control ends with %v, want a refusal", err)
	}
	giveBack(second)
	giveBack(first)
	third := wants("third", addrs[n/2:])
	if err := third.Prepare(t.Context(), job); err != nil {
		t.Errorf("prepare what was given back: %v", err)
	}
	giveBack(third)
}
