package run

import (
	"sort"

	"github.com/coreos/dbtester/pkg/clocks"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// Own is what a member reported of itself, in the client's clock.
type Own struct {
	// Samples are those with an answer.
	Samples []results.DatabaseSample
	// lostAt are the times of questions without an answer.
	lostAt []int64
}

// readOwn reads what a member reported. A database that reports nothing has no file.
func readOwn(path string, track clocks.Track, gaps *Gaps) (own Own) {
	samples, err := results.ReadDatabaseSamples(path)
	if err != nil {
		gaps.Add("%s", problem(path, err))
	}
	for _, s := range samples {
		s.UnixNano = track.Client(s.UnixNano)
		if s.Error != "" {
			own.lostAt = append(own.lostAt, s.UnixNano)
			continue
		}
		own.Samples = append(own.Samples, s)
	}
	sort.SliceStable(own.Samples, func(i, j int) bool { return own.Samples[i].UnixNano < own.Samples[j].UnixNano })
	return own
}

// during returns the samples that enclose the windows, as [Machine.during] does. Windows
// with an interval between samples in common are enclosed together, so that no interval
// counts twice. It returns false if a window has fewer than two samples around it.
func (o Own) during(windows []Span) (enclosed [][]results.DatabaseSample, ok bool) {
	end := 0 // of the last range of samples
	for _, w := range windows {
		first, last := enclosing(w, len(o.Samples), func(i int) int64 { return o.Samples[i].UnixNano })
		if last-first < 2 {
			return nil, false
		}
		if n := len(enclosed) - 1; n >= 0 && first < end {
			first = end - len(enclosed[n])
			enclosed = enclosed[:n]
		}
		enclosed, end = append(enclosed, o.Samples[first:last]), last
	}
	return enclosed, true
}

// Within returns the samples inside the window.
func (o Own) Within(w Span) []results.DatabaseSample {
	first := sort.Search(len(o.Samples), func(i int) bool { return o.Samples[i].UnixNano >= w.From })
	last := sort.Search(len(o.Samples), func(i int) bool { return o.Samples[i].UnixNano >= w.To })
	return o.Samples[first:max(first, last)]
}

// LostWithin counts the questions without an answer in the window.
func (o Own) LostWithin(w Span) (n int) {
	for _, at := range o.lostAt {
		if at >= w.From && at < w.To {
			n++
		}
	}
	return n
}

// Reports returns whether the member reported the metric at any time.
func (o Own) Reports(n metric.Name) bool {
	for i := range o.Samples {
		if o.Samples[i].Values.Get(n) >= 0 || o.Samples[i].Histograms[n].Known() {
			return true
		}
	}
	return false
}

// answeredTooLittle is why neither a counter nor a histogram has grown by a known amount.
const answeredTooLittle = "the member answered fewer than twice during the load"

// Growth is how much a counter grew over the windows, which rise: from the last answer
// before each to the first one after it. What two windows share counts once.
func (o Own) Growth(windows []Span, n metric.Name) Measure {
	enclosed, ok := o.during(windows)
	if !ok {
		return Missing(answeredTooLittle)
	}
	sum, count := 0.0, 0
	for _, samples := range enclosed {
		before := samples[0].Values.Get(n)
		for i := range samples {
			now := samples[i].Values.Get(n)
			switch {
			case now < 0:
				return Missing("not reported during the whole load")
			case now < before:
				return Missing("the member started again during the load")
			}
			sum, before = sum+now-before, now
		}
		count += len(samples)
	}
	return Measured(sum, int64(count))
}

// Histogram is the values that a histogram counted over the windows, as in
// [Own.Growth]. The measure holds their number, or the reason why they are not known.
func (o Own) Histogram(windows []Span, n metric.Name) (metric.Buckets, Measure) {
	enclosed, ok := o.during(windows)
	if !ok {
		return metric.Buckets{}, Missing(answeredTooLittle)
	}
	var sum metric.Buckets
	for _, samples := range enclosed {
		for i := 1; i < len(samples); i++ {
			grown, ok := samples[i].Histograms[n].Since(samples[i-1].Histograms[n])
			if !ok {
				return sum, Missing("not reported during the whole load, or the member started again")
			}
			if sum, ok = sum.Plus(grown); !ok {
				return sum, Missing("its bounds changed during the load")
			}
		}
	}
	return sum, Measured(sum.Count(), int64(sum.Count()))
}

// Peak is the largest value in the windows.
func (o Own) Peak(windows []Span, n metric.Name) Measure {
	peak := Missing("not reported during the load")
	for _, w := range windows {
		for _, s := range o.Within(w) {
			if v := s.Values.Get(n); v >= 0 {
				peak = Measured(max(peak.Value, v), peak.N+1)
			}
		}
	}
	return peak
}

// Last is the last value that the member reported before it was stopped.
func (o Own) Last(n metric.Name) Measure {
	for i := len(o.Samples) - 1; i >= 0; i-- {
		if v := o.Samples[i].Values.Get(n); v >= 0 {
			return Measured(v, 1)
		}
	}
	return Missing("not reported")
}

// MeasuredSpans are the parts of the load that count, or the whole load if they are not
// known.
func (w Windows) MeasuredSpans() (spans []Span) {
	for _, m := range w.Measured {
		if !m.empty() {
			spans = append(spans, m.Span)
		}
	}
	if len(spans) == 0 && !w.Load.empty() {
		return []Span{w.Load}
	}
	return spans
}
