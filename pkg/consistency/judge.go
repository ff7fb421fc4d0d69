package consistency

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Judge judges the requests in a load. One goroutine at a time calls its methods.
type Judge struct {
	opts   Options
	before int64
	latest int64 // when the last request ended
	keys   table
	// touched are the keys in a batch. unfinished is set while a key is judged that may change
	// without another request.
	touched       []int32
	unfinished    bool
	revisits      revisits
	next          []int32 // by request in the batch: the next one on its key
	tainted       bool    // some key is
	touches       []touch
	merged        []zone
	swaps         swaps
	sorter        sorter
	sweep         sweeper
	memory        memory
	unknown       map[valueOf]Op
	failed        failures
	waiting       []Op // reads in a weaker mode that cannot be judged yet
	joined, batch []Op
	expired       []zone
	stale         staleness
	steps         stepTable
	replacer      replacer
	findings
}

// valueOf identifies a value by its key and the number of the request that wrote it.
type valueOf struct{ key, number int64 }

// New returns a judge that has seen no requests.
func New(o Options) *Judge {
	def := func(n *int, preset int) {
		if *n <= 0 {
			*n = preset
		}
	}
	def(&o.MostKeys, 1<<20)
	def(&o.Remembered, 1<<15)
	def(&o.MostUnknown, 1<<20)
	def(&o.MostWitnesses, 100)
	if o.Initial == nil {
		o.Initial = func(int64) int64 { return Absent }
	}
	j := &Judge{opts: o, before: math.MinInt64, latest: math.MinInt64, revisits: revisits{always: o.Weaker || o.Deletes}, memory: memory{most: o.Remembered}, unknown: map[valueOf]Op{}}
	j.keys = newTable(o)
	j.findings = findings{most: o.MostWitnesses, sample: newSample(o.Sampled, o.Initial)}
	return j
}

// Totals returns the counts over all calls.
func (j *Judge) Totals() Counts { return j.totals }

// Witnesses returns the first violations that were found. They do not change later.
func (j *Judge) Witnesses() []Witness { return j.witnesses }

// Stale returns a histogram of the staleness of reads in a weaker mode, in nanoseconds, or nil
// without stale reads.
func (j *Judge) Stale() *hdrhistogram.Histogram { return j.stale.histogram }

// Written returns the keys with a write that did not fail. Those written last come first: if a
// store lost anything, it most likely lost its last writes. Call it after Finish.
func (j *Judge) Written() iter.Seq[int64] {
	type writing struct{ number, sent int64 }
	var written []writing
	for at := range j.keys.count {
		if k := j.keys.at(int32(at)); k.wrote {
			written = append(written, writing{k.number, k.wroteAt()})
		}
	}
	slices.SortFunc(written, func(a, b writing) int {
		return cmp.Or(cmp.Compare(b.sent, a.sent), cmp.Compare(b.number, a.number))
	})
	return func(yield func(int64) bool) {
		for _, w := range written {
			if !yield(w.number) {
				return
			}
		}
	}
}

// Sampled returns the histories of the first keys, by key. Call it after Finish.
func (j *Judge) Sampled() (list []History) {
	if j.sample == nil {
		return nil
	}
	for _, h := range j.sample.all {
		slices.SortFunc(h.Ops, func(a, b Op) int { return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Request, b.Request)) })
		list = append(list, h.History)
	}
	slices.SortFunc(list, func(a, b History) int { return cmp.Compare(a.Key, b.Key) })
	return list
}
