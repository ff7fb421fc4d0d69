package chart

import (
	"maps"
	"math"
	"slices"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/metric"
)

// fsyncFigures show the time that members took to sync their logs to disk, by second and as
// reported by the members: the slowest member in each second.
func fsyncFigures(d *Data) (out []figure.Figure) {
	y := figure.Axis{Label: "Fsync", Unit: "ms"}
	mean := d.overTime("FSYNC-AVG", "Time of an fsync", y)
	mean.Subtitle = "Mean of a second at the slowest member, by the members' own metrics"
	p99 := d.overTime("FSYNC-P99", "99th percentile of fsyncs", y)
	p99.Subtitle = "Upper bound of the bucket in the members' own histograms, at the slowest member of each second"
	for _, one := range []struct {
		figure *figure.Figure
		of     func(own *run.Own, first, end int, each func(v float64))
	}{{&mean, fsyncMeans}, {&p99, fsyncP99s}} {
		d.add(one.figure, d.sameSecond, func(i int, s figure.Series) []figure.Series {
			worst := slowest(d.Runs[i], one.of)
			for _, second := range slices.Sorted(maps.Keys(worst)) {
				s.X, s.Y = append(s.X, middle(d.Runs[i], second)), append(s.Y, worst[second])
			}
			if len(s.X) == 0 {
				return nil
			}
			return []figure.Series{s}
		})
		if len(one.figure.Series) > 0 {
			withoutEmptyPanels(one.figure)
			out = append(out, *one.figure)
		}
	}
	return out
}

// slowest returns the largest value over all members by unix second. A value describes the second
// between two answers, and belongs to when that second ends.
func slowest(r *run.Run, of func(own *run.Own, first, end int, each func(v float64))) map[int64]float64 {
	worst := map[int64]float64{}
	for i := range r.Machines.Servers {
		own := &r.Machines.Servers[i].Own
		first, end := own.Within(r.Windows.Load)
		at := first
		of(own, first, end, func(v float64) {
			second := own.Answers.Times[at] / 1e9
			at++
			if before, known := worst[second]; !math.IsNaN(v) && (!known || v > before) {
				worst[second] = v
			}
		})
	}
	return worst
}

// fsyncMeans calls each with the mean fsync time between successive answers, in milliseconds; NaN
// if there was no fsync.
func fsyncMeans(own *run.Own, first, end int, each func(v float64)) {
	var counts []float64
	own.Answers.Values(metric.Fsyncs, first, end, func(v float64) bool { counts = append(counts, v); return true })
	i, before := 0, metric.Unknown
	own.Answers.Values(metric.FsyncSeconds, first, end, func(now float64) bool {
		v := math.NaN()
		if i > 0 && counts[i-1] >= 0 && before >= 0 && counts[i] > counts[i-1] && now >= before {
			v = 1e3 * (now - before) / (counts[i] - counts[i-1])
		}
		each(v)
		i, before = i+1, now
		return true
	})
}

// fsyncP99s does the same with the 99th percentile. It is also NaN above the highest bucket bound.
func fsyncP99s(own *run.Own, first, end int, each func(v float64)) {
	var before metric.Buckets
	own.Answers.Histograms(metric.FsyncHistogram, first, end, func(now metric.Buckets) bool {
		grown, ok := now.Since(before)
		before = now
		if _, high, known := grown.Quantile(.99); ok && known && !math.IsInf(high, 1) {
			each(1e3 * high)
		} else {
			each(math.NaN())
		}
		return true
	})
}
