package clocks

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// slew is the fraction by which a clock may run faster or slower than another while a time service
// keeps it: 500 ppm, the largest correction that kernels allow.
const slew = 500e-6

// Bounds are the offsets between which a member clock was ahead of the client clock, over time.
// They hold if the clocks never run apart by more than 500 ppm. They do not change.
type Bounds struct {
	at              []int64 // when the exchanges were, in the member clock, in order
	before, onwards []bound // offsets by all exchanges up to one, and by all from it on
}

// bound is an offset range. It is empty if exchanges contradict one another: the clock was set.
type bound struct{ least, most int64 }

func (b bound) and(o bound) bound { return bound{max(b.least, o.least), min(b.most, o.most)} }

// after returns the bound some time later or earlier.
func (b bound) after(ns int64) bound {
	drift := int64(math.Ceil(slew * math.Abs(float64(ns))))
	return bound{b.least - drift, b.most + drift}
}

func (b bound) empty() bool { return b.least > b.most }

// unless returns where both overlap, or b alone if the other contradicts it.
func (b bound) unless(o bound) bound {
	if both := b.and(o); !both.empty() {
		return both
	}
	return b
}

// NewBounds returns the bounds from exchanges with one member.
func NewBounds(exchanges []Exchange) Bounds {
	byMember := slices.Clone(exchanges)
	slices.SortStableFunc(byMember, func(a, b Exchange) int { return cmp.Compare(a.member(), b.member()) })
	n := len(byMember)
	b := Bounds{at: make([]int64, n), before: make([]bound, n), onwards: make([]bound, n)}
	for i, e := range byMember {
		own := bound{e.least(), e.most()}.after(e.RoundTripNS) // its stamps were not taken at one moment
		b.at[i], b.before[i], b.onwards[i] = e.member(), own, own
	}
	// Contradicting exchanges start over: the clock was set between them.
	for i := 1; i < n; i++ {
		b.before[i] = b.before[i].unless(b.before[i-1].after(b.at[i] - b.at[i-1]))
	}
	for i := n - 2; i >= 0; i-- {
		b.onwards[i] = b.onwards[i].unless(b.onwards[i+1].after(b.at[i+1] - b.at[i]))
	}
	return b
}

// member returns about when the exchange was, in the member clock.
func (e Exchange) member() int64 { return e.UnixNano + e.OffsetNS }

// Client returns the earliest and the latest time by the client clock at which the member clock can
// have shown a time, all in unix nanoseconds. It returns false if that is not known: without
// exchanges, or if the clock was set between the two around it.
func (b Bounds) Client(memberNS int64) (earliest, latest int64, ok bool) {
	next := sort.Search(len(b.at), func(i int) bool { return b.at[i] >= memberNS })
	var is bound
	switch {
	case len(b.at) == 0:
		return 0, 0, false
	case next == 0:
		is = b.onwards[0].after(b.at[0] - memberNS)
	case next == len(b.at):
		is = b.before[next-1].after(memberNS - b.at[next-1])
	default:
		is = b.before[next-1].after(memberNS - b.at[next-1]).and(b.onwards[next].after(b.at[next] - memberNS))
	}
	return memberNS - is.most, memberNS - is.least, !is.empty()
}
