package run

import (
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/packed"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// TestLimitsWithoutSamples: after samples were dropped, what needs them is missing.
func TestLimitsWithoutSamples(t *testing.T) {
	var samples []results.Sample
	for i := range 4 {
		s := runtest.Sampled(float64(i), 1, float64(i), 10)
		s.Set(metric.GroupThrottledPeriods, float64(5*i))
		s.Set(metric.GroupMemoryBytes, float64(100*i))
		s.Set(metric.GroupCacheBytes, float64(10*i))
		samples = append(samples, s)
	}
	load := Span{samples[0].UnixNano, samples[3].UnixNano}
	for name, asked := range map[string]bool{"asked before": true, "never asked": false} {
		m := Machine{Name: "member 1", Samples: packed.Of(samples...)}
		if asked {
			if share, cache := m.Throttled(load, 100*time.Millisecond), m.PageCache(load); share.Value != 50 || !cache.Known() {
				t.Errorf("%s: %+v and %+v, want 50 %% and a size", name, share, cache)
			}
		}
		m.Samples.Forget()
		if share, cache := m.Throttled(load, 100*time.Millisecond), m.PageCache(load); share.Known() || cache.Known() {
			t.Errorf("%s: %+v and %+v without samples, want none", name, share, cache)
		}
	}
}
