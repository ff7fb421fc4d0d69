package chart

import (
	"maps"
	"math"
	"slices"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// fsyncFigures show how long the members took to make their logs durable, by second and
// by their own account: the slowest member of each second.
func fsyncFigures(d *Data) (out []figure.Figure) {
	y := figure.Axis{Label: "Fsync", Unit: "millisecond"}
	mean := d.overTime("FSYNC-AVG", "Time of an Fsync", y)
	mean.Subtitle = "Mean of a second at the slowest member, by the members' own metrics"
	p99 := d.overTime("FSYNC-P99", "99th Percentile of Fsyncs", y)
	p99.Subtitle = "Upper bound of the bucket in the members' own histograms, at the slowest member of each second"
	for _, one := range []struct {
		figure *figure.Figure
		of     func(before, after results.DatabaseSample) float64
	}{{&mean, fsyncMean}, {&p99, fsyncP99}} {
		for _, r := range d.Runs {
			s := d.line(r)
			worst := slowest(r, one.of)
			for _, second := range slices.Sorted(maps.Keys(worst)) {
				s.X, s.Y = append(s.X, middle(r, second)), append(s.Y, worst[second])
			}
			if len(s.X) > 0 {
				one.figure.Series = append(one.figure.Series, s)
			}
		}
		if len(one.figure.Series) > 0 {
			out = append(out, *one.figure)
		}
	}
	return out
}

// slowest returns the largest number of a member by unix second.
// Between two answers lies a second, to whose end the number belongs.
func slowest(r *run.Run, of func(before, after results.DatabaseSample) float64) map[int64]float64 {
	worst := map[int64]float64{}
	for _, server := range r.Machines.Servers {
		samples := server.Own.Within(r.Windows.Load)
		for i := 1; i < len(samples); i++ {
			v := of(samples[i-1], samples[i])
			if math.IsNaN(v) {
				continue
			}
			second := samples[i].Second()
			if before, known := worst[second]; !known || v > before {
				worst[second] = v
			}
		}
	}
	return worst
}

// fsyncMean is in milliseconds; NaN without fsyncs.
func fsyncMean(before, after results.DatabaseSample) float64 {
	n := after.Values.Get(metric.Fsyncs) - before.Values.Get(metric.Fsyncs)
	seconds := after.Values.Get(metric.FsyncSeconds) - before.Values.Get(metric.FsyncSeconds)
	if before.Values.Get(metric.Fsyncs) < 0 || before.Values.Get(metric.FsyncSeconds) < 0 || n <= 0 || seconds < 0 {
		return math.NaN()
	}
	return 1e3 * seconds / n
}

// fsyncP99 is in milliseconds; NaN without fsyncs, or above the last bound.
func fsyncP99(before, after results.DatabaseSample) float64 {
	grown, ok := after.Histograms[metric.FsyncHistogram].Since(before.Histograms[metric.FsyncHistogram])
	if _, high, known := grown.Quantile(.99); ok && known && !math.IsInf(high, 1) {
		return 1e3 * high
	}
	return math.NaN()
}
