package results

import (
	"slices"
	"time"
)

// maxGap is the longest gap in seconds that is filled. A longer one is not a
// missed sample but a clock that was set or a machine that slept, and rows for it
// would be fiction by the million.
const maxGap = 3600

// Interpolate returns exactly one sample per unix second from the first sample's
// to the last one's. Several samples in one second become one: the last, with
// gauges that it does not know from the last that does (such as the memory of
// processes that ended within the second) and the CPU percentage of the whole
// period since the sample of an earlier second. A second without a sample lies on
// the straight line between its neighbours, counters and gauges alike; texts,
// ids, clients and the CPU percentage, which already describes the whole stretch
// since the sample before, come from the later neighbour. What either neighbour
// does not know stays unknown. Samples from before their predecessor (the clock
// was set back) are left out, and a gap of more than an hour stays one.
func Interpolate(samples []Sample) []Sample {
	kept := oneOfEachSecond(samples)
	out := make([]Sample, 0, len(kept))
	for i := range kept {
		if i > 0 {
			out = appendBetween(out, &kept[i-1], &kept[i])
		}
		out = append(out, kept[i])
	}
	// Periods were summed up so that they could be interpolated like a counter.
	for i := len(out) - 1; i > 0; i-- {
		if out[i].PeriodNS >= 0 {
			out[i].PeriodNS -= out[i-1].PeriodNS
		}
	}
	if len(out) > 0 && out[0].PeriodNS > 0 {
		out[0].PeriodNS = 0
	}
	return out
}

// oneOfEachSecond keeps one sample per second, in order, with PeriodNS as the
// time since the first sample, or -1 in all of them if one does not know.
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

// appendBetween appends the samples of the seconds between a and b.
func appendBetween(out []Sample, a, b *Sample) []Sample {
	n := b.Second() - a.Second()
	if n > maxGap {
		return out
	}
	for k := int64(1); k < n; k++ {
		s := *b
		s.Interpolated = true
		for _, field := range wholeFields() {
			*field(&s) = between(*field(a), *field(b), k, n)
		}
		for _, field := range realFields() {
			*field(&s) = betweenReal(*field(a), *field(b), k, n)
		}
		out = append(out, s)
	}
	return out
}

// between returns the point k/n of the way from a to b, rounded towards a so
// that a counter never runs ahead; -1 if either is unknown.
func between(a, b, k, n int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	// Whole steps first: the product of a large growth and k may not fit.
	d := b - a
	return a + d/n*k + d%n*k/n
}

func betweenReal(a, b float64, k, n int64) float64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + (b-a)*(float64(k)/float64(n))
}

// wholeGauges are those that are whole numbers and lie on a line.
func wholeGauges() []func(*Sample) *int64 {
	return []func(*Sample) *int64{
		func(s *Sample) *int64 { return &s.RSSBytes },
		func(s *Sample) *int64 { return &s.RSSAnonBytes },
		func(s *Sample) *int64 { return &s.PeakRSSBytes },
		func(s *Sample) *int64 { return &s.VirtualBytes },
		func(s *Sample) *int64 { return &s.FDs },
		func(s *Sample) *int64 { return &s.Threads },
		func(s *Sample) *int64 { return &s.Processes },
	}
}

// wholeFields are the gauges, the counters that are whole numbers, and the time:
// the point between two samples' times always lies in the second it stands for.
func wholeFields() []func(*Sample) *int64 {
	return slices.Concat(wholeGauges(), []func(*Sample) *int64{
		func(s *Sample) *int64 { return &s.UnixNano },
		func(s *Sample) *int64 { return &s.PeriodNS },
		func(s *Sample) *int64 { return &s.VoluntarySwitches },
		func(s *Sample) *int64 { return &s.NonvoluntarySwitches },
		func(s *Sample) *int64 { return &s.ReadBytes },
		func(s *Sample) *int64 { return &s.WriteBytes },
		func(s *Sample) *int64 { return &s.ReadsCompleted },
		func(s *Sample) *int64 { return &s.SectorsRead },
		func(s *Sample) *int64 { return &s.MillisReading },
		func(s *Sample) *int64 { return &s.WritesCompleted },
		func(s *Sample) *int64 { return &s.SectorsWritten },
		func(s *Sample) *int64 { return &s.MillisWriting },
		func(s *Sample) *int64 { return &s.ReceiveBytes },
		func(s *Sample) *int64 { return &s.ReceivePackets },
		func(s *Sample) *int64 { return &s.TransmitBytes },
		func(s *Sample) *int64 { return &s.TransmitPackets },
	})
}

// realGauges are the other gauges.
func realGauges() []func(*Sample) *float64 {
	return []func(*Sample) *float64{
		func(s *Sample) *float64 { return &s.Load1 },
		func(s *Sample) *float64 { return &s.Load5 },
		func(s *Sample) *float64 { return &s.Load15 },
	}
}

// realFields are the gauges and counters that are not whole numbers.
func realFields() []func(*Sample) *float64 {
	return append(realGauges(), func(s *Sample) *float64 { return &s.CPUSeconds })
}
