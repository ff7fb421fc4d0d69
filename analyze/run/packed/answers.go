package packed

import (
	"slices"
	"sort"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// Answers are what one member reported of itself, in the order of their times. The zero
// Answers has none.
type Answers struct {
	Times []int64 // in unix nanoseconds
	// Asked is how long each answer took in nanoseconds, Bytes how long it was.
	Asked, Bytes Column

	columns    []Column // of each metric of a database
	histograms map[int]*histograms
}

// histograms are the states of one histogram, of which every answer has one.
type histograms struct {
	// bounds are those of the answers from one on; nil where there is no histogram.
	bounds []boundsFrom
	// counts has a column for each bound; those that an answer does not have are 0.
	counts []Column
}

type boundsFrom struct {
	from   int
	bounds []float64
}

// AnswersOf packs samples. Those of failed questions are not among them.
func AnswersOf(samples ...results.DatabaseSample) (a Answers) {
	for i := range samples {
		a.Append(&samples[i])
	}
	return a
}

// Append adds a copy of an answer at the end.
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

// append adds the state of answer n.
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

// Len is the number of answers.
func (a *Answers) Len() int { return len(a.Times) }

// Sort puts the answers in the order of their times. Those of equal times keep theirs.
func (a *Answers) Sort() {
	if slices.IsSorted(a.Times) {
		return
	}
	all := a.Unpacked(0, a.Len())
	sort.SliceStable(all, func(i, j int) bool { return all[i].UnixNano < all[j].UnixNano })
	*a = AnswersOf(all...)
}

// Keep drops all metrics except some, of which nothing is known then.
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

// unknown is a column of n numbers that are not known.
func unknown(n int) (c Column) {
	for range n {
		c.Append(metric.Unknown)
	}
	return c
}

// Values calls each with the values of a metric in the answers from first to before end,
// until it returns false.
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

// Histograms calls each with the states of a histogram in the answers from first to
// before end, until it returns false. A state holds until the next but one.
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

// Reports returns whether an answer has a value of the metric.
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

// Unpacked returns the answers from first to before end.
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
