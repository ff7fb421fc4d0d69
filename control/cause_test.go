package control

import (
	"slices"
	"testing"

	"github.com/coreos/dbtester/analyze/abilities/cause"
	reading "github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// TestLockIsNoCause loads a store whose leader has a lock that is not recorded: the report names nothing
// for it, or, on a busy machine, processors.
func TestLockIsNoCause(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	out := r.mustRun(r.experiment(`load: {duration: 6s, warm_up: 1s, cool_down: 0s, clients: 8, key_size: 32, value_size: 64, timeout: 60s}
databases: {fake: {options: {delay: 5ms, one_by_one: true}}}
`), nil)
	runs, err := reading.FromFolder(out.Folders[0])
	if err != nil || len(runs) != 1 || len(runs[0].Stages) != 1 {
		t.Fatalf("read the run: %d runs, %v", len(runs), err)
	}
	facts := cause.FactsOf(runs[0], runs[0].Stages[0])
	entries, why := cause.Ledger(facts)
	if entries == nil {
		t.Fatalf("no ledger: %s", why.Missing)
	}
	v := cause.Judge(facts, entries)
	t.Log(v)
	for _, s := range slices.Concat(v.Of(cause.Named), v.Of(cause.Partly)) {
		if s.Name != "processors" && s.Name != "client" { // which are one here
			t.Errorf("%s is named, of a lock", s.Name)
		}
	}
}
