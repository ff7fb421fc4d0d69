package control

import (
	"testing"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

func TestVerdict(t *testing.T) {
	invalid := results.Mark{Code: mark.Failed, Invalid: true}
	shared := results.Mark{Code: mark.SharedHost}
	for want, v := range map[string]Verdict{
		"etcd: valid":                     {State: results.StateComplete},
		"etcd: valid; marks: shared host": {State: results.StateComplete, Marks: []results.Mark{shared, shared}},
		"etcd: not valid: failed requests; marks: shared host": {State: results.StateComplete, Marks: []results.Mark{invalid, invalid, shared}},
		"etcd: interrupted":                {State: results.StateInterrupted},
		"etcd: failed; marks: shared host": {State: results.StateFailed, Marks: []results.Mark{shared}},
		"etcd: not valid: failed requests": {State: results.StateFailed, Marks: []results.Mark{invalid}},
	} {
		v.Tag = "etcd"
		if got := v.String(); got != want {
			t.Errorf("verdict of %+v: want %q, got %q", v, want, got)
		}
	}
}

// The reason for no capacity is the mark's, or else the search's.
func TestNoCapacity(t *testing.T) {
	found, below := &results.Capacity{Reason: "found", Rate: 100}, &results.Capacity{Reason: "below the least rate", EndedAt: 12}
	marks := []results.Mark{{Code: mark.OtherLoad, Text: "x"}, results.NewMark(mark.Capacity, false, mark.Values{"below_per_second": 12}, nil)}
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
