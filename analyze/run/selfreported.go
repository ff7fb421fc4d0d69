package run

import (
	"slices"

	"github.com/coreos/dbtester/analyze/run/packed"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/clocks"
)

// Own holds the metrics that a member reported about itself, by the client clock.
type Own struct {
	// Answers are the answered questions.
	Answers packed.Answers
	// lostAt has the times at which questions were not answered.
	lostAt []int64
	// windows lists those for which known has metric numbers after their answers were dropped.
	windows []Span
	known   map[metric.Name]ownNumbers
	// stages hold the same for the windows of each stage in a load with several.
	stages []settled
	// sizes has the store sizes by ageing measure, step and minute.
	sizes map[int][][]float64
}

// ownNumbers are the numbers that tables show for a metric.
type ownNumbers struct {
	reported       bool
	growth, inside Measure
	peak, last     Measure
	histogram      metric.Buckets
	histogramN     Measure
}

// settled holds the numbers for all metrics in some windows.
type settled struct {
	windows []Span
	known   map[metric.Name]ownNumbers
}

// settle computes the numbers for every metric in the windows. It then drops the answers that
// neither per-second figures nor the comparison with stalls need. Answers take most of the memory.
func (o *Own) settle(windows []Span, stages ...[]Span) {
	known := o.numbers(windows)
	for _, of := range stages {
		o.stages = append(o.stages, settled{of, o.numbers(of)})
	}
	o.Answers.Keep(metric.Fsyncs, metric.FsyncSeconds, metric.FsyncHistogram, metric.PauseSeconds)
	o.windows, o.known = windows, known
}

// numbers computes the numbers for every metric in the windows.
func (o *Own) numbers(windows []Span) map[metric.Name]ownNumbers {
	known := map[metric.Name]ownNumbers{}
	for _, m := range metric.OfDatabase().Metrics() {
		one := ownNumbers{reported: o.Reports(m.Name), growth: o.Growth(windows, m.Name), inside: o.Inside(windows, m.Name), peak: o.Peak(windows, m.Name), last: o.Last(m.Name)}
		if m.Kind == metric.Histogram {
			one.histogram, one.histogramN = o.Histogram(windows, m.Name)
		}
		known[m.Name] = one
	}
	return known
}

// of returns the numbers for a metric in the windows; nil if not computed yet.
func (o *Own) of(windows []Span, n metric.Name) *ownNumbers {
	if one, ok := o.known[n]; ok && slices.Equal(windows, o.windows) {
		return &one
	}
	for _, s := range o.stages {
		if one, ok := s.known[n]; ok && slices.Equal(windows, s.windows) {
			return &one
		}
	}
	return nil
}

// readOwn reads the metrics that a member reported. Databases that report nothing have no file.
func readOwn(path string, track clocks.Track, gaps *Gaps) (own Own) {
	err := results.EachDatabaseSample(path, func(s *results.DatabaseSample) {
		s.UnixNano = track.Client(s.UnixNano)
		if s.Error != "" {
			own.lostAt = append(own.lostAt, s.UnixNano)
			return
		}
		own.Answers.Append(s)
	})
	if err != nil {
		gaps.Add("%s", problem(path, err))
	}
	own.Answers.Sort()
	return own
}

// places are answers [first, end).
type places struct{ first, end int }

// during returns the answers that enclose the windows, as [Machine.during] does. Windows that share
// an interval between answers are enclosed together, so that no interval counts twice. It returns
// false if a window has fewer than two answers around it.
func (o *Own) during(windows []Span) (enclosed []places, ok bool) {
	for _, w := range windows {
		first, end := enclosing(w, o.Answers.Len(), func(i int) int64 { return o.Answers.Times[i] })
		if end-first < 2 {
			return nil, false
		}
		if n := len(enclosed) - 1; n >= 0 && first < enclosed[n].end {
			first = enclosed[n].first
			enclosed = enclosed[:n]
		}
		enclosed = append(enclosed, places{first, end})
	}
	return enclosed, true
}

// Within returns the answers inside the window, as a range [first, end).
func (o *Own) Within(w Span) (first, end int) { return inside(w, o.Answers.Times) }

// LostWithin counts the unanswered questions in the window.
func (o *Own) LostWithin(w Span) (n int) {
	for _, at := range o.lostAt {
		if at >= w.From && at < w.To {
			n++
		}
	}
	return n
}

// Cost returns the total time of the answers in nanoseconds, their total size in bytes and their
// number within the window.
func (o *Own) Cost(w Span) (asked, bytes float64, n int) {
	first, end := o.Within(w)
	took, size := o.Answers.Asked.Reader(), o.Answers.Bytes.Reader()
	took.Skip(first)
	size.Skip(first)
	for range end - first {
		asked, bytes = asked+took.Next(), bytes+size.Next()
	}
	return asked, bytes, end - first
}

// Reports reports whether the member ever reported the metric.
func (o *Own) Reports(n metric.Name) bool {
	if one, ok := o.known[n]; ok {
		return one.reported
	}
	return o.Answers.Reports(n)
}

// answeredTooLittle explains why the growth of a counter or histogram is unknown.
const answeredTooLittle = "the member answered fewer than twice during the load"

// Growth returns the growth of a counter over the ascending windows, each from the last answer
// before the window to the first one after it. An interval shared by two windows counts once.
func (o *Own) Growth(windows []Span, n metric.Name) Measure {
	if one := o.of(windows, n); one != nil {
		return one.growth
	}
	enclosed, ok := o.during(windows)
	if !ok {
		return Missing(answeredTooLittle)
	}
	return o.grown(enclosed, n)
}

// fewestInside is the number of samples that a window must contain for the first and the last to
// give its counter growth.
const fewestInside = 3

// Inside returns a counter's growth from the first to the last answer inside each window. The
// growths of two counters then cover the same events, and their ratio describes the window alone.
// If a window has fewer than three answers, Inside returns [Own.Growth].
func (o *Own) Inside(windows []Span, n metric.Name) Measure {
	if one := o.of(windows, n); one != nil {
		return one.inside
	}
	ranges := make([]places, 0, len(windows))
	for _, w := range windows {
		first, end := o.Within(w)
		if end-first < fewestInside {
			return o.Growth(windows, n)
		}
		ranges = append(ranges, places{first, end})
	}
	return o.grown(ranges, n)
}

// grown sums a counter's growth over answer ranges.
func (o *Own) grown(ranges []places, n metric.Name) Measure {
	sum, count, why := 0.0, 0, ""
	for _, p := range ranges {
		before, some := 0.0, false
		o.Answers.Values(n, p.first, p.end, func(now float64) bool {
			if !some {
				before, some = now, true
			}
			switch {
			case now < 0:
				why = "not reported during the whole load"
			case now < before:
				why = "the member started again during the load"
			}
			sum, before = sum+now-before, now
			return why == ""
		})
		if why != "" {
			return Missing("%s", why)
		}
		count += p.end - p.first
	}
	return Measured(sum, int64(count))
}

// Histogram returns the values that a histogram counted over the windows, enclosed as in
// [Own.Growth]. The measure holds their count, or the reason why it is unknown.
func (o *Own) Histogram(windows []Span, n metric.Name) (metric.Buckets, Measure) {
	if one := o.of(windows, n); one != nil {
		return one.histogram, one.histogramN
	}
	enclosed, ok := o.during(windows)
	if !ok {
		return metric.Buckets{}, Missing(answeredTooLittle)
	}
	var sum metric.Buckets
	why := ""
	for _, p := range enclosed {
		var before metric.Buckets
		i := p.first
		o.Answers.Histograms(n, p.first, p.end, func(now metric.Buckets) bool {
			if i++; i > p.first+1 {
				grown, ok := now.Since(before)
				if !ok {
					why = "not reported during the whole load, or the member started again"
				} else if sum, ok = sum.Plus(grown); !ok {
					why = "its bounds changed during the load"
				}
			}
			before = now
			return why == ""
		})
		if why != "" {
			return sum, Missing("%s", why)
		}
	}
	return sum, Measured(sum.Count(), int64(sum.Count()))
}

// Peak is the largest value within the windows.
func (o *Own) Peak(windows []Span, n metric.Name) Measure {
	if one := o.of(windows, n); one != nil {
		return one.peak
	}
	peak := Missing("not reported during the load")
	for _, w := range windows {
		first, end := o.Within(w)
		o.Answers.Values(n, first, end, func(v float64) bool {
			if v >= 0 {
				peak = Measured(max(peak.Value, v), peak.N+1)
			}
			return true
		})
	}
	return peak
}

// Last returns the newest value that the member reported before it was stopped.
func (o *Own) Last(n metric.Name) Measure {
	if one, ok := o.known[n]; ok {
		return one.last
	}
	last := metric.Unknown
	o.Answers.Values(n, 0, o.Answers.Len(), func(v float64) bool {
		if v >= 0 {
			last = v
		}
		return true
	})
	if last < 0 {
		return Missing("not reported")
	}
	return Measured(last, 1)
}

// MeasuredSpans returns the measured parts of the load, or the whole load if they are unknown.
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
