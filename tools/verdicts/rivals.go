package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/coreos/dbtester/pkg/stats/capacity"
)

// searchIsotonic fits a falling curve to the windows chosen by the search of dbtester, and takes
// where it crosses the share. The interval comes from 200 bootstrap samples of the windows.
func searchIsotonic(s *server, o capacity.Options) answer {
	a, windows := searchWindows(s, o)
	a.rate, a.stalls = crossing(windows, o.Share), false
	rng := rand.New(rand.NewPCG(11, uint64(len(windows))))
	var crossings []float64
	for range 200 {
		sample := make([]seen, len(windows))
		for i := range sample {
			sample[i] = windows[rng.IntN(len(windows))]
		}
		crossings = append(crossings, crossing(sample, o.Share))
	}
	slices.Sort(crossings)
	a.low, a.high = crossings[5], crossings[194]
	return a
}

// crossing is where the isotonic fit (pooled adjacent violators) falls below the share.
func crossing(windows []seen, share float64) float64 {
	windows = slices.Clone(windows)
	slices.SortFunc(windows, func(a, b seen) int { return cmp.Compare(a.rate, b.rate) })
	type block struct{ n, passed, low, high float64 }
	var blocks []block
	for _, w := range windows {
		b := block{n: 1, low: w.rate, high: w.rate}
		if w.pass {
			b.passed = 1
		}
		blocks = append(blocks, b)
		for k := len(blocks) - 1; k > 0 && blocks[k-1].passed/blocks[k-1].n <= blocks[k].passed/blocks[k].n; k-- {
			l, r := blocks[k-1], blocks[k]
			blocks = append(blocks[:k-1], block{l.n + r.n, l.passed + r.passed, l.low, r.high})
		}
	}
	for k, b := range blocks {
		if b.passed/b.n >= share {
			continue
		}
		if k == 0 {
			return b.low
		}
		return math.Sqrt(blocks[k-1].high * b.low)
	}
	return windows[len(windows)-1].rate
}

// searchBisection doubles until a window fails and halves the bracket, one window at
// each rate, until it is as narrow as the tolerance. The bracket is its interval.
func searchBisection(s *server, o capacity.Options) answer {
	low, high, n := o.Start/2, o.Start, 1
	for ; o.Judge(s.window(o, high)) == capacity.Pass && n < o.Windows; n++ {
		low, high = high, 2*high
	}
	for ; high/low > 1+o.Tolerance/2 && n < o.Windows; n++ {
		if middle := math.Sqrt(low * high); o.Judge(s.window(o, middle)) == capacity.Pass {
			low = middle
		} else {
			high = middle
		}
	}
	return answer{rate: math.Sqrt(low * high), low: low, high: high, windows: n}
}

// searchFindmax raises the rate by steps that grow while windows pass. After a window
// that fails it begins again with the smallest step above the best rate, and ends when
// that fails too. The answer is the highest rate that passed.
func searchFindmax(s *server, o capacity.Options) answer {
	best, step, n := 0.0, o.Start, 0
	for least := .01 * fullRate; n < o.Windows; {
		n++
		rate := best + step
		if o.Judge(s.window(o, rate)) == capacity.Pass {
			best, step = rate, 2*step
			continue
		}
		if step <= least {
			break
		}
		step = math.Max(least, step/8)
	}
	return answer{rate: best, windows: n}
}
