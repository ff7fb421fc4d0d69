package agent_test

import (
	"path/filepath"
	"testing"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// TestLastSample stops a member. The last sample is from its lifetime, however soon after the
// stop it ended, and no sample follows.
func TestLastSample(t *testing.T) {
	h := serve(t, nil)
	h.open("run1")
	started := h.start(request(t, "run1", ""))
	h.stopped("run1")
	h.collect("run1", results.FileServer)
	samples, err := results.ReadSamples(filepath.Join(filepath.Dir(started.Dir), results.FileServer))
	if err != nil {
		t.Fatalf("read the samples: %v", err)
	}
	if len(samples) < 2 {
		t.Fatalf("want the sample before the start and the one before the stop, got %d samples", len(samples))
	}
	last := samples[len(samples)-1]
	if n := last.Get(metric.Processes); n < 1 {
		t.Errorf("the last sample must be of a running member, got %g processes and %v", n, last.Values)
	}
}
