package runtest

import (
	"math"
	"time"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// Sampled returns a sample from a running member, at a time in seconds after begin, with the period
// before it.
func Sampled(at, period, cpu, mb float64) results.Sample {
	s := FixtureSample(1, int64(at), 0, int64(period*1e9), 0)
	s.UnixNano = Begin*1e9 + int64(math.Round(at*1e9))
	s.Set(metric.CPUSeconds, cpu)
	s.Set(metric.CPUPercent, 0)
	s.Set(metric.RSSBytes, mb*1e6)
	s.Set(metric.SectorsWritten, math.Round(at*1000))
	return s
}

// Busy gives samples the percentages that follow from their CPU seconds.
func Busy(samples ...results.Sample) []results.Sample {
	for i := range samples[1:] {
		if s := &samples[i+1]; s.Get(metric.Processes) > 0 {
			percent, _ := results.CPUPercent(samples[i].Get(metric.CPUSeconds), s.Get(metric.CPUSeconds), time.Duration(s.PeriodNS))
			s.Set(metric.CPUPercent, percent)
		}
	}
	return samples
}

// Ended returns a sample after the member processes ended. Their CPU time since the previous sample
// is unknown.
func Ended(at, period, cpu float64) results.Sample {
	s := Sampled(at, period, cpu, 0)
	for _, n := range []metric.Name{
		metric.RSSBytes, metric.RSSAnonBytes, metric.PeakRSSBytes, metric.VirtualBytes, metric.FDs, metric.Threads, metric.CPUPercent,
	} {
		s.Set(n, metric.Unknown)
	}
	s.Set(metric.Processes, 0)
	s.State = ""
	return s
}
