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
