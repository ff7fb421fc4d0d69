package load

import (
	"math"
	"slices"

	"github.com/coreos/dbtester/pkg/results"
)

// tick is the row duration in progress.csv, in nanoseconds.
const tick = int64(results.ProgressTick)

// grid numbers the ticks of a step from where its measured window starts; warm-up ticks are
// negative. The tick in which the window ends has two numbers, one before the end and one from
// there on. Times are nanoseconds by the recorder clock.
type grid struct {
	window  int64     // when the measured window begins
	planned int64     // when it ends at the latest; math.MaxInt64 without a duration
	issue   *issueEnd // ends a window with a duration, if that is earlier
}

// cut returns when the window ends. A window without a duration ends with the step.
func (g *grid) cut() int64 {
	if g.planned == math.MaxInt64 {
		return math.MaxInt64
	}
	return min(g.planned, g.issue.at())
}

// of returns the number of the tick that holds a time.
func (g *grid) of(ns int64) int64 {
	k := floorDiv(ns-g.window, tick)
	if ns >= g.cut() {
		k++
	}
	return k
}

// bounds returns the half-open time range that a tick holds.
func (g *grid) bounds(k int64) (from, to int64) {
	cut := g.cut()
	last := floorDiv(cut-g.window, tick)
	from, to = g.window+k*tick, g.window+(k+1)*tick
	switch {
	case k < last:
		return from, to
	case k == last:
		return from, cut
	}
	return max(cut, from-tick), from
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// tickCounts counts requests in one tick.
type tickCounts struct {
	used   bool
	number int64
	// first and last are when the first and the last ok request ended; last is 0 if
	// no request did.
	first, last int64
	ops         [maxOps]opCounts
}

// opCounts counts the requests of one operation. Due is counted from the schedule, the others from
// requests.
type opCounts struct {
	due, sent, shed, unsent int64
	ended                   [3]int64
}

// answered counts an ok request.
func (t *tickCounts) answered(ns int64) {
	if t.last == 0 || ns < t.first {
		t.first = ns
	}
	t.last = max(t.last, ns)
}

// merge adds another part of the same tick.
func (t *tickCounts) merge(o *tickCounts) {
	if o.last != 0 {
		t.answered(o.first)
		t.answered(o.last)
	}
	for n := range t.ops {
		a, b := &t.ops[n], &o.ops[n]
		a.due += b.due
		a.sent += b.sent
		a.shed += b.shed
		a.unsent += b.unsent
		for i := range a.ended {
			a.ended[i] += b.ended[i]
		}
	}
}

// ringTicks ticks fit in a ring without more memory: enough for several seconds. One second is
// flushed at a time.
const ringTicks = 64

// tickRing counts the ticks not taken yet. Its owner guards it.
type tickRing struct {
	grid grid
	ring [ringTicks]tickCounts
	// spilled are ticks whose place another tick took, after the process was stopped.
	spilled []tickCounts
}

// at returns the tick that holds a time. It is valid until the next call.
func (r *tickRing) at(ns int64) *tickCounts {
	k := r.grid.of(ns)
	t := &r.ring[uint64(k)%ringTicks]
	if t.number != k || !t.used {
		return r.open(k, t)
	}
	return t
}

// open returns the counts of tick k, whose place may hold another tick. The later
// of the two gets the place.
func (r *tickRing) open(k int64, t *tickCounts) *tickCounts {
	if t.used && t.number > k {
		return openTick(&r.spilled, k)
	}
	if t.used {
		openTick(&r.spilled, t.number).merge(t)
	}
	*t = tickCounts{used: true, number: k}
	return t
}

// openTick returns tick k in a list ordered by number. It adds an empty tick if k is missing.
func openTick(list *[]tickCounts, k int64) *tickCounts {
	i, found := slices.BinarySearchFunc(*list, k, func(t tickCounts, k int64) int { return int(t.number - k) })
	if !found {
		*list = slices.Insert(*list, i, tickCounts{used: true, number: k})
	}
	return &(*list)[i]
}

// take moves all ticks before number end to a list, ordered by number.
func (r *tickRing) take(end int64, into *[]tickCounts) {
	move := func(t *tickCounts) { openTick(into, t.number).merge(t) }
	for n := range r.ring {
		if t := &r.ring[n]; t.used && t.number < end {
			move(t)
			t.used = false
		}
	}
	n := 0
	for ; n < len(r.spilled) && r.spilled[n].number < end; n++ {
		move(&r.spilled[n])
	}
	r.spilled = slices.Delete(r.spilled, 0, n)
}
