package packed

import (
	"slices"
	"sort"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// Answers are the reports by one member about itself, in time order. The zero Answers is empty.
type Answers struct {
	Times []int64 // unix nanoseconds
	// Asked is the time each answer took, in nanoseconds, and Bytes its length.
	Asked, Bytes Column

	columns    []Column // one for each database metric
	histograms map[int]*histograms
}

// histograms are the successive states of one histogram. Every answer has one state.
type histograms struct {
	// bounds lists each change in the bucket bounds with the index of its first answer; nil means
	// no histogram.
	bounds []boundsFrom
	// counts has a column for each bound, with 0 where an answer lacks that bound.
	counts []Column
}

type boundsFrom struct {
	from   int
	bounds []float64
}

// AnswersOf packs samples, leaving out failed questions.
func AnswersOf(samples ...results.DatabaseSample) (a Answers) {
	for i := range samples {
		a.Append(&samples[i])
	}
	return a
}

// Append appends a copy of an answer.
func (a *Answers) Append(s *results.DatabaseSample) {
	list := metric.OfDatabase()
	if a.columns == nil {
		a.columns, a.histograms = make([]Column, list.Len()), map[int]*histograms{}
	}
	n := len(a.Times)
	a.Times = append(a.Times, s.UnixNano)
	a.Asked.Append(float64(s.AskedNS))
	a.Bytes.Append(float64(s.Bytes))
	for i := range a.columns {
		a.columns[i].Append(s.Values.At(i))
	}
	for name, b := range s.Histograms {
		i, known := list.Index(name)
		if known && a.histograms[i] == nil && b.Known() {
			a.histograms[i] = &histograms{bounds: []boundsFrom{{}}}
		}
	}
	for i, h := range a.histograms {
		h.append(n, s.Histograms[list.At(i).Name])
	}
}

// append appends the state for answer n.
func (h *histograms) append(n int, b metric.Buckets) {
	if last := h.bounds[len(h.bounds)-1]; !slices.Equal(last.bounds, b.Bounds) {
		h.bounds = append(h.bounds, boundsFrom{n, b.Bounds})
	}
	for len(h.counts) < len(b.Counts) {
		var missed Column
		for range n {
			missed.Append(0)
		}
		h.counts = append(h.counts, missed)
	}
	for i := range h.counts {
		v := 0.0
		if i < len(b.Counts) {
			v = b.Counts[i]
		}
		h.counts[i].Append(v)
	}
}

func (a *Answers) Len() int { return len(a.Times) }

// Sort sorts the answers by time. The sort is stable.
func (a *Answers) Sort() {
	if slices.IsSorted(a.Times) {
		return
	}
	all := a.Unpacked(0, a.Len())
	sort.SliceStable(all, func(i, j int) bool { return all[i].UnixNano < all[j].UnixNano })
	*a = AnswersOf(all...)
}

// Keep drops all metrics except names. Dropped metrics are unknown afterwards.
func (a *Answers) Keep(names ...metric.Name) {
	for at := range a.columns {
		name := metric.OfDatabase().At(at).Name
		if slices.Contains(names, name) {
			a.columns[at].Clip()
			continue
		}
		a.columns[at] = unknown(a.Len())
		delete(a.histograms, at)
	}
	for _, h := range a.histograms {
		for i := range h.counts {
			h.counts[i].Clip()
		}
	}
	a.Times = slices.Clone(a.Times)
}

// unknown returns a column with n unknown numbers.
func unknown(n int) (c Column) {
	for range n {
		c.Append(metric.Unknown)
	}
	return c
}

// Values calls each with the values of a metric in answers [first, end) until it returns false.
func (a *Answers) Values(n metric.Name, first, end int, each func(v float64) bool) {
	at, known := metric.OfDatabase().Index(n)
	var r Reader
	if known && a.columns != nil {
		r = a.columns[at].Reader()
		r.Skip(first)
	}
	for range max(end-first, 0) {
		v := metric.Unknown
		if known && a.columns != nil {
			v = r.Next()
		}
		if !each(v) {
			return
		}
	}
}

// Histograms calls each with the states of a histogram in answers [first, end) until it returns
// false. A state stays valid during the following call too.
func (a *Answers) Histograms(n metric.Name, first, end int, each func(b metric.Buckets) bool) {
	at, _ := metric.OfDatabase().Index(n)
	h := a.histograms[at]
	if h == nil {
		for range max(end-first, 0) {
			if !each(metric.Buckets{}) {
				return
			}
		}
		return
	}
	readers := make([]Reader, len(h.counts))
	for i := range h.counts {
		readers[i] = h.counts[i].Reader()
		readers[i].Skip(first)
	}
	var states [2][]float64
	epoch := 0
	for i := first; i < end; i++ {
		for epoch+1 < len(h.bounds) && h.bounds[epoch+1].from <= i {
			epoch++
		}
		b := metric.Buckets{Bounds: h.bounds[epoch].bounds}
		if b.Known() {
			if len(states[i%2]) != len(b.Bounds) {
				states[i%2] = make([]float64, len(b.Bounds))
			}
			b.Counts = states[i%2]
		}
		for j := range readers {
			if v := readers[j].Next(); j < len(b.Counts) {
				b.Counts[j] = v
			}
		}
		if !each(b) {
			return
		}
	}
}

// Reports returns whether any answer has a value for the metric.
func (a *Answers) Reports(n metric.Name) bool {
	at, known := metric.OfDatabase().Index(n)
	if !known || a.columns == nil {
		return false
	}
	if a.histograms[at] != nil {
		return true
	}
	found := false
	a.Values(n, 0, a.Len(), func(v float64) bool { found = v >= 0; return !found })
	return found
}

// Unpacked returns answers [first, end).
func (a *Answers) Unpacked(first, end int) []results.DatabaseSample {
	list := metric.OfDatabase()
	out := make([]results.DatabaseSample, max(end-first, 0))
	asked, bytes := a.Asked.Reader(), a.Bytes.Reader()
	asked.Skip(first)
	bytes.Skip(first)
	for i := range out {
		out[i] = results.NewDatabaseSample()
		out[i].UnixNano, out[i].AskedNS, out[i].Bytes = a.Times[first+i], int64(asked.Next()), int64(bytes.Next())
	}
	for at := range a.columns {
		name, i := list.At(at).Name, 0
		a.Values(name, first, end, func(v float64) bool { out[i].Values.SetAt(at, v); i++; return true })
		if i = 0; a.histograms[at] == nil {
			continue
		}
		a.Histograms(name, first, end, func(b metric.Buckets) bool {
			if b.Known() {
				out[i].Histograms[name] = metric.Buckets{Bounds: b.Bounds, Counts: slices.Clone(b.Counts)}
			}
			i++
			return true
		})
	}
	return out
}
