package control

import (
	"testing"

	"github.com/coreos/dbtester/control/judge"
	"github.com/coreos/dbtester/pkg/results"
)

func TestVerdict(t *testing.T) {
	invalid := results.Mark{Code: results.MarkFailed, Invalid: true}
	mark := results.Mark{Code: results.MarkSharedHost}
	for want, v := range map[string]Verdict{
		"etcd: valid":                     {State: results.StateComplete},
		"etcd: valid; marks: shared host": {State: results.StateComplete, Marks: []results.Mark{mark, mark}},
		"etcd: not valid: failed requests; marks: shared host": {State: results.StateComplete, Marks: []results.Mark{invalid, invalid, mark}},
		"etcd: interrupted":                {State: results.StateInterrupted},
		"etcd: failed; marks: shared host": {State: results.StateFailed, Marks: []results.Mark{mark}},
		"etcd: not valid: failed requests": {State: results.StateFailed, Marks: []results.Mark{invalid}},
	} {
		v.Tag = "etcd"
		if got := v.String(); got != want {
			t.Errorf("verdict of %+v: want %q, got %q", v, want, got)
		}
	}
}

// The reason of a search without a capacity is that of its mark, or else that of the search.
func TestNoCapacity(t *testing.T) {
	found, below := &results.Capacity{Reason: "found", Rate: 100}, &results.Capacity{Reason: "below the least rate", EndedAt: 12}
	marks := []results.Mark{{Code: results.MarkOtherLoad, Text: "x"}, {Code: results.MarkCapacity, Text: judge.NoCapacity + "it lies below 12 requests/s"}}
	for _, tt := range []struct {
		run  results.DatabaseRun
		want string
	}{
		{results.DatabaseRun{}, ""},
		{results.DatabaseRun{Capacity: found, Validity: marks[:1]}, ""},
		{results.DatabaseRun{Capacity: below, Validity: marks}, "it lies below 12 requests/s"},
		{results.DatabaseRun{Capacity: below}, "below the least rate (12/s)"},
	} {
		if got := noCapacity(&tt.run); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.run.Capacity, got, tt.want)
		}
	}
}
