package results

import (
	"time"

	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/metric"
)

// maxGap is the longest gap filled, in seconds. A longer gap does not come from missed samples,
// but from a clock being set or a machine sleeping.
const maxGap = 3600

// Interpolate returns exactly one sample per unix second, from the first sample to the last.
// Several samples in one second become one: the last. A gauge unknown in it comes from the last
// sample that has it (such as memory for processes that ended within the second), and its CPU
// percentage covers the whole period since a sample in an earlier second. A second without a sample
// lies on the straight line between its neighbours, counters and gauges alike. Texts, ids, settings
// and rates, which already describe the whole time since the sample before, come from the later
// neighbour. A metric unknown in either neighbour stays unknown. Samples from before their
// predecessor (the clock was set back) are dropped, and a gap of more than an hour stays one.
func Interpolate(samples []Sample) []Sample {
	kept := oneOfEachSecond(samples)
	out := make([]Sample, 0, len(kept))
	for i := range kept {
		if i > 0 {
			out = appendBetween(out, &kept[i-1], &kept[i])
		}
		out = append(out, kept[i])
	}
	apart(out) // periods were summed up, to interpolate them like a counter
	return out
}

// EachSecond returns one sample for each second with samples, as [Interpolate] joins them, if
// samples are less than about a second apart; else it returns all samples.
func EachSecond(samples []Sample) []Sample {
	if len(samples) == 0 {
		return samples
	}
	if !Dense(len(samples), samples[0].UnixNano, samples[len(samples)-1].UnixNano) {
		return samples
	}
	kept := oneOfEachSecond(samples)
	apart(kept)
	return kept
}

// Dense reports whether n samples are so close that [EachSecond] joins some. first and
// last are their first and last times in unix nanoseconds.
func Dense(n int, first, last int64) bool {
	seconds := last/int64(time.Second) - first/int64(time.Second) + 1
	return n >= 4 && float64(n) >= 1.5*float64(seconds)
}

// apart turns summed periods back into the times since the sample before.
func apart(samples []Sample) {
	for i := len(samples) - 1; i > 0; i-- {
		if samples[i].PeriodNS >= 0 {
			samples[i].PeriodNS -= samples[i-1].PeriodNS
		}
	}
	if len(samples) > 0 && samples[0].PeriodNS > 0 {
		samples[0].PeriodNS = 0
	}
}

// oneOfEachSecond keeps one sample per second, in order, with PeriodNS as the time since the
// first sample, or -1 throughout if one period is unknown.
func oneOfEachSecond(samples []Sample) []Sample {
	var kept []Sample
	elapsed, known := int64(0), true
	for i := range samples {
		s := samples[i]
		known = known && s.PeriodNS >= 0
		elapsed += s.PeriodNS
		if s.PeriodNS = -1; known {
			s.PeriodNS = elapsed
		}
		n := len(kept)
		switch {
		case n == 0 || s.Second() > kept[n-1].Second():
			kept = append(kept, s)
		case s.UnixNano >= kept[n-1].UnixNano:
			before, period := &kept[max(n-2, 0)], int64(0)
			if n > 1 && known {
				period = s.PeriodNS - before.PeriodNS
			}
			s.Join(&kept[n-1], before, time.Duration(period))
			kept[n-1] = s
		}
	}
	for i := range kept {
		if !known {
			kept[i].PeriodNS = -1
		}
	}
	return kept
}

// appendBetween appends samples for the seconds between a and b.
func appendBetween(out []Sample, a, b *Sample) []Sample {
	n := b.Second() - a.Second()
	if n > maxGap {
		return out
	}
	for k := int64(1); k < n; k++ {
		s := *b
		s.Interpolated = true
		// The point between two sample times always lies in the second it stands for.
		s.UnixNano, s.PeriodNS = between(a.UnixNano, b.UnixNano, k, n), between(a.PeriodNS, b.PeriodNS, k, n)
		s.Values = valuesBetween(a.Values, b.Values, k, n)
		out = append(out, s)
	}
	return out
}

// between returns the point k/n of the way from a to b, rounded towards a so that a counter never
// runs ahead; -1 if either is unknown.
func between(a, b, k, n int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	// Whole steps first: a large growth times k may not fit.
	d := b - a
	return a + d/n*k + d%n*k/n
}

func betweenReal(a, b float64, k, n int64) float64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + (b-a)*(float64(k)/float64(n))
}

// valuesBetween returns the values k/n of the way from a to b: on the straight line for counters
// and gauges, those in b for the rest.
func valuesBetween(a, b metric.Values, k, n int64) metric.Values {
	v := b.Clone()
	for i := range v.List().Len() {
		switch m := v.List().At(i); {
		case m.Kind != metric.Counter && m.Kind != metric.Gauge:
		case m.Whole():
			v.SetAt(i, float64(between(int64(a.At(i)), int64(b.At(i)), k, n)))
		default:
			v.SetAt(i, betweenReal(a.At(i), b.At(i), k, n))
		}
	}
	return v
}

// SampleTable returns samples, such as [Interpolate] returns, as a system-metrics CSV. DELTA
// columns are differences between its rows, so each sums to the growth of its counter from first to
// last row.
func SampleTable(samples []Sample) []byte {
	columns := sampleColumns()
	b := linefile.HeaderLine(columns)
	for i := range samples {
		row := sampleRow{Sample: samples[i]}
		if i > 0 {
			row.before = &samples[i-1]
		}
		b = linefile.AppendRow(b, columns, &row)
	}
	return b
}
