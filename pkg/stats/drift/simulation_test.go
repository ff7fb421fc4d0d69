package drift

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/stats/abtest"
	"github.com/coreos/dbtester/pkg/stats/rank"
)

// run simulates a run: five measures in each minute.
type run struct {
	minutes int
	// memory is the correlation between the levels in two successive seconds.
	memory float64
	// deviation is the standard deviation of p99's level, as a share. p50's is half.
	deviation float64
	// teeth is the saw-tooth length, in minutes.
	teeth float64
	// drift is the planted growth per hour, as a share.
	drift float64
}

// levels returns a level for each second in a run, with a standard deviation and correlated
// neighbours.
func (r run) levels(random *rand.Rand, deviation float64) []float64 {
	levels := make([]float64, 60*r.minutes)
	z := random.NormFloat64()
	for i := range levels {
		levels[i] = math.Exp(deviation * z)
		z = r.memory*z + math.Sqrt(1-r.memory*r.memory)*random.NormFloat64()
	}
	return levels
}

// tooth rises from 0 to 1 and falls back at once.
func (r run) tooth(minute, phase float64) float64 {
	_, part := math.Modf(minute/r.teeth + phase)
	return part
}

// grown returns the factor for the planted drift.
func (r run) grown(minute float64) float64 { return 1 + r.drift*minute/60 }

// latency returns the quantile in each second. Each saw-tooth from a compaction or a collector
// raises it.
func (r run) latency(random *rand.Rand, deviation, noise, height float64) []float64 {
	phase, levels := random.Float64(), r.levels(random, deviation)
	for i := range levels {
		at := float64(i) / 60
		levels[i] *= r.grown(at) * (1 + height*r.tooth(at, phase)) * (1 + noise*random.NormFloat64())
	}
	return levels
}

// perMinute joins seconds. For this simulation the quantile in a minute is about the mean over its
// seconds; reports merge histograms.
func perMinute(seconds []float64) []float64 {
	out := make([]float64, len(seconds)/60)
	for i := range out {
		for _, v := range seconds[60*i : 60*i+60] {
			out[i] += v / 60
		}
	}
	return out
}

// gauge returns a size for each minute: a level, teeth, and hardly any noise.
func (r run) gauge(random *rand.Rand, height, noise float64) []float64 {
	out, phase := make([]float64, r.minutes), random.Float64()
	for i := range out {
		at := float64(i) + 0.5
		out[i] = 1e8 * r.grown(at) * (1 + height*r.tooth(at, phase)) * (1 + noise*random.NormFloat64())
	}
	return out
}

// series returns p50, p99, memory, store size and its used part.
func (r run) series(random *rand.Rand) [][]float64 {
	return [][]float64{
		perMinute(r.latency(random, r.deviation/2, 0.02, 0.05)), perMinute(r.latency(random, r.deviation, 0.10, 0.15)),
		r.gauge(random, 0.20, 0.003), r.gauge(random, 0.10, 0.0005), r.gauge(random, 0.20, 0),
	}
}

// found reports which measures have a drift, if all are tested together.
func found(series [][]float64) (which [5]bool) {
	var p []float64
	for i, values := range series {
		d, _ := fit(values, centers[i])
		p = append(p, d.P)
	}
	for i, one := range abtest.Holm(p) {
		which[i] = one < Level
	}
	return which
}

var (
	names    = [5]string{"p50", "p99", "memory", "store", "in use"}
	centers  = [5]Center{Median, Median, Mean, Mean, Mean}
	memories = []float64{0.3, 0.5, 0.7, 0.9}
)

// between draws a saw-tooth length log-uniformly: equal ratios are equally frequent.
func between(random *rand.Rand, least, most float64) float64 {
	return least * math.Exp(random.Float64()*math.Log(most/least))
}

// count simulates runs and counts those with any drift, and the drifts by measure.
func count(runs int, r run, least, most float64) (alarms int, by [5]int) {
	for i := range runs {
		random := rand.New(rand.NewPCG(uint64(i), uint64(r.minutes)))
		one := r
		one.teeth = between(random, least, most)
		if one.memory == 0 {
			one.memory = memories[i%len(memories)]
		}
		any := 0
		for k, is := range found(one.series(random)) {
			if is {
				by[k]++
				any = 1
			}
		}
		alarms += any
	}
	return alarms, by
}

// Flat six-hour runs have no drifts, however correlated their seconds and however long their
// saw-teeth, nor have shorter runs.
func TestFlat(t *testing.T) {
	slowtest.Skip(t)
	for _, c := range []struct {
		runs, minutes int
		least, most   float64
	}{{200, 360, 1, 60}, {200, 360, 60, 240}, {200, 120, 1, 30}, {200, 60, 1, 15}, {200, 30, 1, 10}} {
		alarms, by := count(c.runs, run{minutes: c.minutes, deviation: 0.10}, c.least, c.most)
		t.Logf("%d minutes, teeth of %v to %v minutes: %d of %d flat runs have a drift, by measure %v", c.minutes, c.least, c.most, alarms, c.runs, by)
		if 20*alarms > c.runs {
			t.Errorf("%d of %d flat runs of %d minutes have a drift, want at most one in 20", alarms, c.runs, c.minutes)
		}
	}
}

// Growth by 1 % per hour is found in six hours. The noisier p99 is, the larger is the smallest
// drift.
func TestPlanted(t *testing.T) {
	slowtest.Skip(t)
	for _, c := range []struct{ deviation, memory float64 }{{0.05, 0}, {0.05, 0.9}, {0.10, 0}, {0.15, 0}, {0.15, 0.9}} {
		_, by := count(100, run{minutes: 360, deviation: c.deviation, memory: c.memory, drift: 0.01}, 1, 10)
		t.Logf("deviation %v, correlation %v: 1 %% per hour found in %v of 100 runs, by measure %v", c.deviation, c.memory, by, names)
		for k, n := range by {
			if c.deviation == 0.05 && n < 95 {
				t.Errorf("1 %% per hour of %s is found in %d of 100 runs, want 95", names[k], n)
			}
		}
	}
}

// A test on single seconds or minutes, which assumes that they are independent, finds drifts in
// flat runs. So does one whose variance is corrected for correlated minutes (Hamed and Rao, 1998).
func TestOthers(t *testing.T) {
	slowtest.Skip(t)
	var seconds, minutes, corrected, parts int
	const runs = 40
	for i := range runs {
		random := rand.New(rand.NewPCG(uint64(i), 3))
		r := run{minutes: 60, deviation: 0.10, memory: memories[i%len(memories)], teeth: between(random, 1, 30)}
		each := r.latency(random, r.deviation, 0.10, 0.15)
		is := func(n *int, p float64) {
			if p < Level {
				*n++
			}
		}
		joined := perMinute(each)
		is(&seconds, kendall(each, false))
		is(&minutes, kendall(joined, false))
		is(&corrected, kendall(joined, true))
		d, _ := fit(joined, Median)
		is(&parts, d.P)
	}
	t.Logf("of %d flat p99 series of an hour, a drift is found in %d from seconds, %d from minutes, %d from minutes with a corrected variance, %d from parts", runs, seconds, minutes, corrected, parts)
	if seconds < 5 || parts > 2 {
		t.Errorf("a drift is found in %d series from seconds and %d from parts, want at least 5 and at most 2", seconds, parts)
	}
}

// kendall returns the p of Kendall's test with the normal distribution.
func kendall(values []float64, corrected bool) float64 {
	n, sum := len(values), 0
	for i := range values {
		for j := i + 1; j < n; j++ {
			switch {
			case values[j] > values[i]:
				sum++
			case values[j] < values[i]:
				sum--
			}
		}
	}
	f := float64(n)
	variance := f * (f - 1) * (2*f + 5) / 18
	if corrected {
		ranks := make([]float64, n)
		for i, doubled := range rank.Doubled(values, 0) {
			ranks[i] = float64(doubled)/2 - (f+1)/2
		}
		own, sum := 0.0, 0.0
		for _, r := range ranks {
			own += r * r
		}
		for lag := 1; lag < n-2; lag++ {
			with := 0.0
			for i := range ranks[lag:] {
				with += ranks[i] * ranks[i+lag]
			}
			if with /= own; math.Abs(with) > 1.96/math.Sqrt(f) {
				sum += (f - float64(lag)) * (f - float64(lag) - 1) * (f - float64(lag) - 2) * with
			}
		}
		variance *= 1 + 2*sum/(f*(f-1)*(f-2))
	}
	if variance <= 0 {
		return 0
	}
	return math.Erfc(math.Abs(float64(sum)) / math.Sqrt(2*variance))
}
