package sysmetrics

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/metric"
)

// The last sample is from running processes. A sample from ended processes would repeat their
// counters as if they had been idle since.
func TestLastSampleIsOfRunningProcesses(t *testing.T) {
	for name, c := range map[string]struct {
		ended bool
		want  int
	}{
		"running": {false, 4}, // the first, two ticks, the last
		"ended":   {true, 3},
	} {
		f := newFixture(t)
		f.put(fake{pid: 10, start: 1, own: 100})
		s := f.sampler(Options{PIDs: pids(10)})
		k := &kept{write: func(n int) error {
			f.put(fake{pid: 10, start: 1, own: 100 + n, state: map[bool]string{true: "Z (zombie)", false: "S (sleeping)"}[c.ended && n == 3]})
			return nil
		}}
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
			defer cancel()
			if err := s.Run(ctx, k); err != nil {
				t.Errorf("run the sampler: %v", err)
			}
		})
		if len(k.samples) != c.want {
			t.Fatalf("%s: want %d samples, got %d", name, c.want, len(k.samples))
		}
		for i, got := range k.samples {
			if got.Get(metric.Processes) != 1 {
				t.Errorf("%s: sample %d must be of one process, got %g", name, i, got.Get(metric.Processes))
			}
		}
	}
}
