package run

import (
	"math"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run/packed"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// TestLimitsWithoutSamples: after samples were dropped, numbers that need them are missing.
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

// TestGrowthOfEndedProcesses: a sample that found the processes ended repeats their counters, as
// records by earlier versions end.
func TestGrowthOfEndedProcesses(t *testing.T) {
	sample := func(at, cpu, processes float64) results.Sample {
		s := runtest.Sampled(at, 1, cpu, 10)
		s.Set(metric.CPUSeconds, cpu)
		s.Set(metric.Processes, processes)
		return s
	}
	m := Machine{Name: "member 1", Samples: packed.Of(sample(0, 1, 1), sample(1, 2, 1), sample(2, 3, 1), sample(2.7, 3, 0), sample(3.7, 3, 0))}
	span := func(from, to float64) Span {
		return Span{m.Samples.Times[0] + int64(from*1e9), m.Samples.Times[0] + int64(to*1e9)}
	}
	for _, c := range []struct {
		what     string
		from, to float64
		want     float64
		marked   bool
		missing  bool
	}{
		{"ends before the processes", 0, 2, 2, false, false},
		{"ends with them", 0, 2.6, 2, true, false},
		{"holds their end", 0, 3.5, 2, true, false},
		{"lies between the last two samples", 2.2, 2.6, 0, false, true},
		{"lies after their end", 2.8, 3.6, 0, false, false},
	} {
		got := m.Growth(span(c.from, c.to), Of(metric.CPUSeconds))
		if got.Value != c.want || got.Known() == c.missing || (len(got.Marks) == 1) != c.marked {
			t.Errorf("a window that %s: got %+v, want %g, a mark: %t, missing: %t", c.what, got, c.want, c.marked, c.missing)
		}
	}
}

// Growth is counted between the samples inside a window, as between answers by a member, if there
// are at least three.
func TestMachineInside(t *testing.T) {
	var samples []results.Sample
	for second, trips := range []float64{0, 1000, 2000, 2010, 2020, 2030, 5000} {
		s := runtest.Sampled(float64(second), 1, 1, 10)
		s.Set(metric.StreamTrips, trips)
		samples = append(samples, s)
	}
	m := Machine{Name: "member 1", Samples: packed.Of(samples...)}
	span := func(from, to float64) Span {
		return Span{m.Samples.Times[0] + int64(from*1e9), m.Samples.Times[0] + int64(to*1e9)}
	}
	for _, c := range []struct{ from, to, want float64 }{
		{1.5, 5.5, 30},          // its own samples
		{3.5, 5, 15},            // one sample, so interpolated
		{1.5, 2.5, 500 + .5*10}, // one
	} {
		if got := m.Inside([]Span{span(c.from, c.to)}, metric.StreamTrips); !got.Known() || math.Abs(got.Value-c.want) > 1e-9 {
			t.Errorf("from %g to %g s: got %+v, want %g", c.from, c.to, got, c.want)
		}
	}
	if got := m.Inside([]Span{span(1.5, 5.5)}, metric.StreamTripSeconds); got.Known() {
		t.Errorf("what was not recorded has a growth: %+v", got)
	}
}
