package control

import (
	"testing"

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
