package run

import (
	"fmt"
	"sort"
	"time"

	"github.com/coreos/dbtester/analyze/run/packed"
	"github.com/coreos/dbtester/pkg/metric"
)

// Machine holds samples for a machine and for a process tree on it, with times by the client clock.
type Machine struct {
	Name    string // "member 1", "client"
	Samples packed.Samples
	// Own has the metrics that the member reported about itself; empty for the client.
	Own Own
	// Missing is the reason for having no samples; "" if there are some.
	Missing string
	// growths caches results from Growth, which outlive the samples.
	growths map[grownOver]Measure
}

// grownOver is a counter and an interval: the key for a cached growth.
type grownOver struct {
	w  Span
	of Quantity
}

// closeEnough is how far inside the window, in nanoseconds, a sample may lie and still count as
// lying on its edge: a tenth of the sampling interval (one second), or a tenth of a shorter window.
func closeEnough(w Span) int64 { return min(100e6, (w.To-w.From)/10) }

// enclosing returns the smallest sample range that encloses the window, from the last sample before
// it to the first one after it. There are n samples with ascending times. The range is empty if no
// samples enclose the window.
func enclosing(w Span, n int, at func(i int) int64) (first, end int) {
	first = sort.Search(n, func(i int) bool { return at(i) > w.From+closeEnough(w) })
	last := sort.Search(n, func(i int) bool { return at(i) >= w.To-closeEnough(w) })
	first = max(first-1, 0)
	return first, max(first, min(last+1, n))
}

// inside returns the samples inside the window, as a range [first, end) in their ascending times.
func inside(w Span, times []int64) (first, end int) {
	first = sort.Search(len(times), func(i int) bool { return times[i] >= w.From })
	end = sort.Search(len(times), func(i int) bool { return times[i] >= w.To })
	return first, max(first, end)
}

// during returns the samples whose counters enclose the window. If the second that ends the window
// has several samples, the last one counts, as in interpolated files: the final sample of a run may
// follow the regular one in the same second.
func (m *Machine) during(w Span) (first, end int) {
	first, end = enclosing(w, m.Samples.Len(), func(i int) int64 { return m.Samples.Times[i] })
	for end > first+1 && end < m.Samples.Len() && floorDiv(m.Samples.Times[end], 1e9) == floorDiv(m.Samples.Times[end-1], 1e9) {
		end++
	}
	return first, end
}

// SamplesWithin counts the samples in the window's seconds.
func (m *Machine) SamplesWithin(w Span) int {
	first, end := m.within(w)
	return end - first
}

// within returns the samples in the window's seconds.
func (m *Machine) within(w Span) (from, end int) {
	if w.empty() {
		return 0, 0
	}
	first, last := floorDiv(w.From, 1e9), floorDiv(w.To-1, 1e9)
	second := func(i int) int64 { return secondOf(m.Samples.Times[i], m.Samples.Periods[i], m.Samples.Classic()) }
	from = sort.Search(m.Samples.Len(), func(i int) bool { return second(i) >= first })
	to := sort.Search(m.Samples.Len(), func(i int) bool { return second(i) > last })
	return from, max(from, to)
}

// each calls do with the values in samples [first, end) until it returns false.
func (m *Machine) each(q Quantity, first, end int, do func(v float64) bool) {
	if first >= end {
		return
	}
	r := m.Samples.Column(q.at).Reader()
	r.Skip(first)
	for i := first; i < end; i++ {
		if !do(q.value(r.Next(), m.Samples.Periods[i], m.Samples.Classic())) {
			return
		}
	}
}

// Growth is the last value of a counter minus its first value in the window, so a missed second is
// neither lost nor counted twice.
func (m *Machine) Growth(w Span, get Counter) Measure {
	if m.Missing != "" {
		return Missing("%s", m.Missing)
	}
	return computedOnce(&m.growths, grownOver{w, get}, func() Measure { return m.growth(w, get) })
}

// computedOnce returns the cached measure for a key, or computes and caches it.
func computedOnce[K comparable](known *map[K]Measure, key K, compute func() Measure) Measure {
	if one, is := (*known)[key]; is {
		return one
	}
	one := compute()
	if *known == nil {
		*known = map[K]Measure{}
	}
	(*known)[key] = one
	return one
}

func (m *Machine) growth(w Span, get Counter) (grown Measure) {
	first, end := m.during(w)
	if end-first < 2 {
		return Missing("%s: fewer than two samples of the load", m.Name)
	}
	value, before, some := 0.0, 0.0, false
	m.each(get, first, end, func(now float64) bool {
		if !some {
			value, before, some = -now, now, true
		}
		switch {
		case now < 0:
			grown = Missing("%s: not recorded", m.Name)
			return false
		case now < before:
			grown = Missing("%s: the counter started again during the load", m.Name)
			return false
		}
		before = now
		return true
	})
	if grown.Missing != "" {
		return grown
	}
	grown = Measured(value+before, int64(end-first))
	if !get.ofProcesses {
		return grown
	}
	switch lost := m.unseen(w, first, end); {
	case lost >= w.To-w.From:
		return Missing("%s: its processes ended before a sample of the load's end", m.Name)
	case lost > closeEnough(w):
		grown.Marks = []string{fmt.Sprintf("a lower bound: %s's processes ran for %.2g s after their last sample, and no sample covers that time", m.Name, float64(lost)/1e9)}
	}
	return grown
}

// unseen returns the part of the window, in nanoseconds, that lies between the last sample that saw
// the processes running and the first that found them ended, over samples [first, end).
func (m *Machine) unseen(w Span, first, end int) (lost int64) {
	for _, s := range m.endings(first, end) {
		lost += max(0, min(s.To, w.To)-max(s.From, w.From))
	}
	return lost
}

// endings returns the times between the last sample that saw the processes running and the first
// that found them ended, over samples [first, end). The second sample repeats the counters of the
// first.
func (m *Machine) endings(first, end int) (list []Span) {
	i, ran := first, false
	m.each(Of(metric.Processes), first, end, func(n float64) bool {
		if ran && n == 0 {
			list = append(list, Span{m.Samples.Times[i-1], m.Samples.Times[i]})
		}
		ran = n > 0
		i++
		return true
	})
	return list
}

// Throttled is the percentage of CPU limit periods in which the processes were stopped because they
// had used up their quota.
func (m *Machine) Throttled(w Span, period time.Duration) Measure {
	grown := m.Growth(w, Of(metric.GroupThrottledPeriods))
	if !grown.Known() {
		return grown
	}
	first, end := m.during(w)
	if end-first < 2 {
		return Missing("%s: fewer than two samples of the load", m.Name) // samples were dropped
	}
	elapsed := m.Samples.Times[end-1] - m.Samples.Times[first]
	return grown.Times(100 * float64(period) / float64(elapsed))
}

// PageCache is the part of control group memory in the page cache, taken when that memory peaked in
// the window.
func (m *Machine) PageCache(w Span) Measure {
	peak := m.Peak(w, Of(metric.GroupMemoryBytes))
	if !peak.Known() {
		return peak
	}
	first, end := m.within(w)
	at, i, cache := -1, first, Missing("%s: not recorded during the load", m.Name)
	m.each(Of(metric.GroupMemoryBytes), first, end, func(v float64) bool {
		if v == peak.Value {
			at = i
		}
		i++
		return at < 0
	})
	if at < 0 {
		return cache
	}
	m.each(Of(metric.GroupCacheBytes), at, at+1, func(v float64) bool {
		if v >= 0 {
			cache = Measured(v, peak.N)
		}
		return true
	})
	return cache
}

// Trough is the smallest value of a gauge in the window.
func (m *Machine) Trough(w Span, get Gauge) Measure {
	return m.extreme(w, get, func(a, b float64) float64 { return min(a, b) })
}

// GrowthWithin is the growth of a counter in exactly the window: the counter is interpolated
// between samples at both ends. Use it for windows that last a few seconds, where the surrounding
// samples in Growth would add a considerable part.
func (m *Machine) GrowthWithin(w Span, get Counter) Measure {
	whole := m.Growth(w, get)
	if !whole.Known() {
		return whole
	}
	first, end := m.during(w)
	values := make([]float64, 0, end-first)
	m.each(get, first, end, func(v float64) bool {
		values = append(values, v)
		return true
	})
	times := m.Samples.Times[first:end]
	if len(values) < 2 || len(times) < len(values) {
		return Missing("%s: fewer than two samples of the load", m.Name)
	}
	within := Measured(interpolated(times, values, w.To)-interpolated(times, values, w.From), whole.N)
	within.Marks = whole.Marks
	return within
}

// Inside is the growth of a counter from the first to the last sample inside each window, as
// [Own.Inside]. Where a window has fewer than three, it is [Machine.GrowthWithin].
func (m *Machine) Inside(windows []Span, n metric.Name) Measure {
	sum := Measured(0, 0)
	for _, w := range windows {
		one := m.GrowthWithin(w, Of(n))
		if !one.Known() {
			return one
		}
		if first, end := inside(w, m.Samples.Times); end-first >= fewestInside {
			var values []float64
			m.each(Of(n), first, end, func(v float64) bool {
				values = append(values, v)
				return true
			})
			one.Value = values[len(values)-1] - values[0]
		}
		sum.Value, sum.N = sum.Value+one.Value, sum.N+one.N
	}
	return sum
}

// Peak is the largest value of a gauge in the window.
func (m *Machine) Peak(w Span, get Gauge) Measure {
	return m.extreme(w, get, func(a, b float64) float64 { return max(a, b) })
}

// extreme reduces gauge values in the window with keep, which selects one of two.
func (m *Machine) extreme(w Span, get Gauge, keep func(a, b float64) float64) Measure {
	if m.Missing != "" {
		return Missing("%s", m.Missing)
	}
	kept, n := 0.0, int64(0)
	first, end := m.within(w)
	m.each(get, first, end, func(v float64) bool {
		if v >= 0 {
			if n == 0 {
				kept = v
			}
			kept, n = keep(kept, v), n+1
		}
		return true
	})
	if n == 0 {
		return Missing("%s: not recorded during the load", m.Name)
	}
	return Measured(kept, n)
}
