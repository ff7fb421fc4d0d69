package fleet

import (
	"errors"
	"testing"
)

// Three heartbeats in a row that fail are a loss; one that is answered begins anew.
func TestMisses(t *testing.T) {
	silent := errors.New("no answer")
	var m Misses
	for i, step := range []struct {
		err  error
		lost bool
	}{{silent, false}, {silent, false}, {nil, false}, {silent, false}, {silent, false}, {silent, true}, {silent, true}, {nil, false}, {silent, false}} {
		if lost := m.Count(step.err); (lost != nil) != step.lost || lost != nil && !errors.Is(lost, silent) {
			t.Errorf("heartbeat %d with error %v: got %v, want a loss: %v", i+1, step.err, lost, step.lost)
		}
	}
}
