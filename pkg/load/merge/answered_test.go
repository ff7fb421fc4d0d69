package merge

import (
	"math"
	"testing"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// The first and the last ok answer in a tick are those of all generators.
func TestTicksAnswered(t *testing.T) {
	m := ticks{ops: []workload.Op{workload.OpWrite}}
	for _, p := range []results.Progress{
		{ToNS: 100, Operation: "write", OK: 2, FirstOKNS: 40, LastOKNS: 60},
		{ToNS: 100, Operation: "write", InFlight: 1}, // nothing ended
		{ToNS: 100, Operation: "write", OK: 1, FirstOKNS: 20, LastOKNS: 20},
		{ToNS: 100, Operation: "write", OK: 3, FirstOKNS: 50, LastOKNS: 90},
	} {
		m.add(&p)
	}
	if got := m.take(math.MaxInt64); len(got) != 1 || got[0].OK != 6 || got[0].FirstOKNS != 20 || got[0].LastOKNS != 90 {
		t.Errorf("merged %+v, want one row with 6 answers from 20 to 90", got)
	}
}
