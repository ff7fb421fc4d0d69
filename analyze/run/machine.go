package run

import (
	"sort"

	"github.com/coreos/dbtester/pkg/clocks"
	"github.com/coreos/dbtester/pkg/results"
)

// Machine holds the samples of a machine and of a process tree on it, in the client's
// clock.
type Machine struct {
	Name    string // "member 1", "client"
	Samples []results.Sample
	// Own is what the member reported of itself; empty for the client.
	Own Own
	// Missing is the reason for the lack of samples, "" if there are any.
	Missing string
}

// shifted converts samples into the client's clock, and sorts them.
func shifted(samples []results.Sample, track clocks.Track) []results.Sample {
	out := make([]results.Sample, len(samples))
	for i, s := range samples {
		s.UnixNano = track.Client(s.UnixNano)
		out[i] = s
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].UnixNano < out[j].UnixNano })
	return out
}

// closeEnough is how far inside the load, in nanoseconds, a sample may lie and still
// count as one of its end: a tenth of the second between samples.
const closeEnough = 100e6

// enclosing returns which of n samples, whose times rise, enclose the window: from the
// last one before it to the first one after it. It is empty if there are none.
func enclosing(w Span, n int, at func(i int) int64) (first, end int) {
	first = sort.Search(n, func(i int) bool { return at(i) > w.From+closeEnough })
	last := sort.Search(n, func(i int) bool { return at(i) >= w.To-closeEnough })
	first = max(first-1, 0)
	return first, max(first, min(last+1, n))
}

// during returns the samples whose counters enclose the window.
func (m Machine) during(w Span) []results.Sample {
	first, end := enclosing(w, len(m.Samples), func(i int) int64 { return m.Samples[i].UnixNano })
	return m.Samples[first:end]
}

// Within returns the samples of the seconds of the window.
func (m Machine) Within(w Span) []results.Sample {
	if w.empty() {
		return nil
	}
	first, last := floorDiv(w.From, 1e9), floorDiv(w.To-1, 1e9)
	from := sort.Search(len(m.Samples), func(i int) bool { return secondOf(&m.Samples[i]) >= first })
	to := sort.Search(len(m.Samples), func(i int) bool { return secondOf(&m.Samples[i]) > last })
	return m.Samples[from:max(from, to)]
}

// Growth is how much a counter grew over the window: its last value less its first
// one, so that a missed second is neither lost nor counted twice.
func (m Machine) Growth(w Span, get Counter) Measure {
	samples := m.during(w)
	switch {
	case m.Missing != "":
		return Missing("%s", m.Missing)
	case len(samples) < 2:
		return Missing("%s: fewer than two samples of the load", m.Name)
	}
	before := get(samples[0])
	value := -before
	for _, s := range samples {
		now := get(s)
		if now < 0 {
			return Missing("%s: not recorded", m.Name)
		}
		if now < before {
			return Missing("%s: the counter started again during the load", m.Name)
		}
		before = now
	}
	return Measured(value+before, int64(len(samples)))
}

// Peak is the largest value of a gauge in the window.
func (m Machine) Peak(w Span, get Gauge) Measure {
	if m.Missing != "" {
		return Missing("%s", m.Missing)
	}
	peak := Missing("%s: not recorded during the load", m.Name)
	for _, s := range m.Within(w) {
		if v := get(s); v >= 0 {
			peak = Measured(max(peak.Value, v), peak.N+1)
		}
	}
	return peak
}
