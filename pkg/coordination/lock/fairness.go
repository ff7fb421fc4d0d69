package lock

import (
	"cmp"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/ability/locks"
	"github.com/coreos/dbtester/pkg/stats/share"
)

// fairness describes whether turns in a stage were shared fairly. Locks are added one after the
// other.
type fairness struct {
	names, contenders int

	is     locks.Fairness
	shares []float64 // every contender's; 1 is an equal share
	chance float64   // sum over chances
}

// add takes the turns for a lock. place returns when a turn's place was certainly confirmed.
func (f *fairness) add(name int, j *judge, all, held []*locks.Turn, place func(*locks.Turn) int64) {
	f.share(name, held)
	f.waits(j, all, held)
	f.order(all, held, place)
	f.again(all, held)
}

// share counts the turns of each contender. The contenders for one lock are numbered as far apart
// as there are locks.
func (f *fairness) share(name int, held []*locks.Turn) {
	counts := make([]int64, f.contenders)
	for _, t := range held {
		counts[(int(t.Contender)-name)/f.names]++
	}
	if len(held) == 0 {
		return
	}
	each := float64(len(held)) / float64(f.contenders)
	for _, n := range counts {
		f.shares = append(f.shares, float64(n)/each)
	}
	most, fewest := float64(slices.Max(counts))/float64(len(held)), float64(slices.Min(counts))/float64(len(held))
	if f.is.Most = max(f.is.Most, most); len(f.shares) == f.contenders {
		f.is.Fewest = fewest
	}
	f.is.Fewest = min(f.is.Fewest, fewest)
}

// waits finds the longest waits.
func (f *fairness) waits(j *judge, all, held []*locks.Turn) {
	acquired := make([]int64, len(held))
	for i, t := range held {
		acquired[i] = t.Acquired
	}
	for _, t := range all {
		until := min(over(t), j.To)
		if t.End == locks.Refused || until < t.Asked {
			continue
		}
		f.is.LongestWithout = max(f.is.LongestWithout, time.Duration(until-t.Asked))
		f.is.LongestTurns = max(f.is.LongestTurns, int64(before(acquired, until)-upTo(acquired, t.Asked)))
	}
}

// order counts the turns that overtook others. A turn is decided if another waited whose place was
// confirmed before it asked, or which asked after its own place was confirmed.
func (f *fairness) order(all, held []*locks.Turn, place func(*locks.Turn) int64) {
	asking := slices.Clone(all)
	slices.SortStableFunc(asking, func(a, b *locks.Turn) int { return cmp.Compare(a.Asked, b.Asked) })
	var placed, asked sorted // for the waiting turns
	next := 0
	for _, t := range held {
		for ; next < len(asking) && asking[next].Asked < t.Acquired; next++ {
			if a := asking[next]; a.End != locks.Refused {
				placed.add(placedAt(place(a)))
				asked.add(a.Asked)
			}
		}
		placed.remove(placedAt(place(t)))
		asked.remove(t.Asked)
		overtaken, agreed := placed.below(t.Asked), 0
		if own := place(t); own > 0 && own <= t.Acquired {
			agreed = asked.above(own)
		}
		if overtaken+agreed > 0 {
			f.is.Decided++
		}
		if overtaken > 0 {
			f.is.Overtook++
			f.is.Overtakes += int64(overtaken)
		}
	}
}

// placedAt returns when a place was confirmed, never if that is not known.
func placedAt(ns int64) int64 {
	if ns == 0 {
		return never
	}
	return ns
}

// again counts the times that the releaser got the lock again while others waited.
func (f *fairness) again(all, held []*locks.Turn) {
	w := newWaiting(all)
	for i := range len(held) - 1 {
		t, next := held[i], held[i+1]
		others := w.at(t.Sent)
		if t.End != locks.Released || others == 0 || next.Acquired < t.Sent {
			continue
		}
		f.is.Chances++
		f.chance += 1 / float64(others+1)
		if next.Contender == t.Contender {
			f.is.Again++
		}
	}
}

// shownShares bounds the points on the share curve.
const shownShares = 100

// outcome returns the fairness over all locks.
func (f *fairness) outcome(assumed bool) locks.Fairness {
	is := f.is
	is.Assumed = assumed
	is.Order = order(is.Overtook, is.Decided)
	if is.Chances > 0 {
		is.ByChance = f.chance / float64(is.Chances)
	}
	slices.SortFunc(f.shares, func(a, b float64) int { return cmp.Compare(b, a) })
	var sum, squares float64
	for _, s := range f.shares {
		sum, squares = sum+s, squares+s*s
	}
	if squares > 0 {
		is.Jain = sum * sum / (float64(len(f.shares)) * squares)
	}
	points, had, next := min(len(f.shares), shownShares), 0.0, 0
	for i := range points {
		for ; next < (i+1)*len(f.shares)/points; next++ {
			had += f.shares[next]
		}
		is.Shares = append(is.Shares, had/sum)
	}
	return is
}

// Contenders are in a queue if up to this share of decided turns overtook others: members confirm
// places a little after they gave them.
const seldom = 0.05

// enough turns decide the order: the interval for their share is narrow enough.
const enough = 2000

// order decides whether contenders are in a queue, from the number of turns that overtook others:
// the interval for their share must lie on one side of seldom.
func order(overtook, decided int64) locks.Order {
	if decided == 0 {
		return locks.Undecided
	}
	n := min(decided, enough)
	low, high := share.Interval(int(overtook*n/decided), int(n))
	switch {
	case high < seldom:
		return locks.Queue
	case low > seldom:
		return locks.Race
	}
	return locks.Undecided
}

// sorted are moments in order.
type sorted []int64

func (s *sorted) add(ns int64) { *s = slices.Insert(*s, before(*s, ns), ns) }

// remove takes a moment away, if it is there.
func (s *sorted) remove(ns int64) {
	if i, there := slices.BinarySearch(*s, ns); there {
		*s = slices.Delete(*s, i, i+1)
	}
}

func (s sorted) below(ns int64) int { return before(s, ns) }

func (s sorted) above(ns int64) int { return len(s) - upTo(s, ns) }
