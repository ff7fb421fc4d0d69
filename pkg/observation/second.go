package observation

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Second holds the observations in one second and step.
type Second struct {
	// Second is the unix second by the client clock.
	Second int64 `json:"second"`
	Step   int   `json:"step"`
	// Numbers are ordered like the declared values.
	Numbers []Number `json:"numbers"`
}

// Number holds the observations for one value.
type Number struct {
	// N counts the observations. Without an observation a maximum or a minimum is unknown.
	N int64 `json:"n"`
	// Value is the sum, the maximum or the minimum; for times it is the sum, and Longest the
	// longest one.
	Value   int64 `json:"value"`
	Longest int64 `json:"longest,omitempty"`
	// Times is the histogram of the durations.
	Times histogram.Buckets `json:"times,omitempty"`
}

// merged merges two numbers for one value.
func (m Merging) merged(a, b Number) Number {
	switch {
	case a.N == 0:
		return b
	case b.N == 0:
		return a
	}
	out := Number{N: a.N + b.N}
	switch m {
	case Max:
		out.Value = max(a.Value, b.Value)
	case Min:
		out.Value = min(a.Value, b.Value)
	case Times:
		var sum histogram.Sum
		sum.Add(a.Times)
		sum.Add(b.Times)
		out.Times, out.Longest = sum.Take(), max(a.Longest, b.Longest)
		fallthrough
	case Sum:
		out.Value = a.Value + b.Value
	}
	return out
}

// Merge merges the seconds from several parts of a load, ordered by second and step.
func (g Group) Merge(parts ...[]Second) []Second {
	type key struct {
		second int64
		step   int
	}
	all := map[key][]Number{}
	for _, seconds := range parts {
		for _, s := range seconds {
			k := key{s.Second, s.Step}
			if all[k] == nil {
				all[k] = make([]Number, len(g.Values))
			}
			for i, v := range g.Values {
				all[k][i] = v.Merging.merged(all[k][i], s.Numbers[i])
			}
		}
	}
	var merged []Second
	for k, numbers := range all {
		merged = append(merged, Second{k.second, k.step, numbers})
	}
	slices.SortFunc(merged, func(a, b Second) int {
		return cmp.Or(cmp.Compare(a.Second, b.Second), cmp.Compare(a.Step, b.Step))
	})
	return merged
}

// Recorder collects observations by second and step. It is safe for concurrent use.
type Recorder struct {
	group Group
	mu    sync.Mutex
	cells map[cell]*Number
	times map[cell]map[int64]int64 // counts by the lowest value in their bucket
}

// cell is where a number belongs.
type cell struct {
	second      int64
	step, value int
}

// NewRecorder returns a recorder for g.
func NewRecorder(g Group) *Recorder {
	return &Recorder{group: g, cells: map[cell]*Number{}, times: map[cell]map[int64]int64{}}
}

// Add records number, observed at a time during step. It panics if the group does not declare the
// name.
func (r *Recorder) Add(name string, at time.Time, step int, number int64) {
	value := r.group.index(name)
	c := cell{at.Unix(), step, value}
	one := Number{N: 1, Value: number}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cells[c] == nil {
		r.cells[c] = &Number{}
	}
	sum := r.cells[c]
	if r.group.Values[value].Merging != Times {
		*sum = r.group.Values[value].Merging.merged(*sum, one)
		return
	}
	number = min(max(number, 0), int64(histogram.MaxLatency))
	sum.N, sum.Value, sum.Longest = sum.N+1, sum.Value+number, max(sum.Longest, number)
	if r.times[c] == nil {
		r.times[c] = map[int64]int64{}
	}
	r.times[c][histogram.BucketStart(number)]++
}

// Take returns and removes the observations before a unix second, in order.
func (r *Recorder) Take(before int64) []Second {
	r.mu.Lock()
	defer r.mu.Unlock()
	var parts []Second
	for c, n := range r.cells {
		if c.second >= before {
			continue
		}
		for _, start := range slices.Sorted(maps.Keys(r.times[c])) {
			n.Times = append(n.Times, histogram.Bucket{Value: start, Count: r.times[c][start]})
		}
		one := Second{c.second, c.step, make([]Number, len(r.group.Values))}
		one.Numbers[c.value] = *n
		parts = append(parts, one)
		delete(r.cells, c)
		delete(r.times, c)
	}
	return r.group.Merge(parts)
}
