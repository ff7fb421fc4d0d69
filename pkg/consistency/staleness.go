package consistency

import (
	"cmp"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// staleness is the distribution of staleness among reads.
type staleness struct{ histogram *hdrhistogram.Histogram }

// mostStaleness is the largest value in the histogram, in nanoseconds: an hour.
const mostStaleness = 3600 * 1e9

func (s *staleness) add(ns int64) {
	if s.histogram == nil {
		s.histogram = hdrhistogram.New(1, mostStaleness, 3)
	}
	_ = s.histogram.RecordValue(min(ns, mostStaleness)) // which it holds
}

// replacer computes when values were replaced. It keeps memory for the computation.
type replacer struct {
	order    []int
	first    []int64
	replaced []int64
}

// at returns for each zone the moment from which it had surely been replaced, or never. It is
// valid until the next call.
func (p *replacer) at(zones []zone) []int64 {
	p.order, p.first, p.replaced = p.order[:0], p.first[:0], p.replaced[:0]
	for n := range zones {
		p.order = append(p.order, n)
		p.first = append(p.first, never)
	}
	slices.SortFunc(p.order, func(a, b int) int { return cmp.Compare(zones[a].sent, zones[b].sent) })
	// first[n] is the least f among the zones in order[n:].
	p.first = append(p.first, never)
	for n := len(zones) - 1; n >= 0; n-- {
		p.first[n] = min(p.first[n+1], zones[p.order[n]].f)
	}
	for n := range zones {
		at, _ := slices.BinarySearchFunc(p.order, zones[n].f, func(o int, f int64) int {
			if zones[o].sent <= f {
				return -1
			}
			return 1
		})
		p.replaced = append(p.replaced, p.first[at])
	}
	return p.replaced
}
