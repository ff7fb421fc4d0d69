// Package coincidence decides which kinds of event coincide with stalls more often than chance
// explains, by shifting the stalls circularly.
package coincidence

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"sort"
)

const (
	// Shifts is the number of times that stalls are moved at random.
	Shifts = 10_000
	// Level is the p below which chance is excluded.
	Level = 0.01
	// Least is the fewest stalls, and the fewest events of one kind, that are tested.
	Least = 5
)

// Stretch is [From, To) in a period, which is counted in ticks from 0.
type Stretch struct{ From, To int }

// Period is a time in which stalls and events were observed. Stretches in one list ascend and do
// not overlap.
type Period struct {
	Ticks  int
	Stalls []Stretch
	// Events has a list for each kind. All periods have the same kinds.
	Events [][]Stretch
}

// Kind has the test result for one kind of event.
type Kind struct {
	// Overlap counts ticks that are both in a stall and in an event.
	Overlap int
	// P is the probability that the most unusual kind is at least as unusual as this one if the
	// stalls have nothing to do with any kind.
	P float64
}

// Test returns the result for each kind, and the same results for the same seed. In each shift, all
// stalls in a period move by the same random number of ticks. Stalls that leave the period at its
// end return at its beginning, so that lengths and distances between stalls stay the same, as they
// do for events. The p of one kind is the share of shifts, including this observation, that have at
// least as much overlap. P compares that with the smallest p over all kinds in each shift (Westfall
// and Young, 1993), so that many kinds cause no false alarms.
func Test(periods []Period, kinds int, seed uint64) []Kind {
	overlaps := make([][]int, kinds) // by kind and shift; the last one is the observation
	for k := range overlaps {
		overlaps[k] = make([]int, Shifts+1)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	by := make([]int, Shifts+1)
	for _, p := range periods {
		if p.Ticks <= 0 || len(p.Stalls) == 0 {
			continue
		}
		for i := range Shifts {
			by[i] = random.IntN(p.Ticks)
		}
		for k := range kinds {
			add(overlaps[k], p, p.Events[k], by)
		}
	}
	alone := make([][]float64, kinds)
	smallest := slices.Repeat([]float64{1}, Shifts+1)
	for k := range overlaps {
		alone[k] = shares(overlaps[k])
		for i, p := range alone[k] {
			smallest[i] = min(smallest[i], p)
		}
	}
	slices.Sort(smallest)
	out := make([]Kind, kinds)
	for k := range out {
		p := alone[k][Shifts]
		atMost := sort.Search(len(smallest), func(i int) bool { return smallest[i] > p })
		out[k] = Kind{Overlap: overlaps[k][Shifts], P: float64(atMost) / (Shifts + 1)}
	}
	return out
}

// add adds the overlap in a period to that for each shift.
func add(overlaps []int, p Period, events []Stretch, by []int) {
	moved, fixed, forward := p.Stalls, events, true
	if len(events) < len(moved) { // shift the events back instead: fewer move, the overlap is the same
		moved, fixed, forward = events, p.Stalls, false
	}
	before := count(fixed, p.Ticks)
	for i, shift := range by {
		if !forward {
			shift = p.Ticks - shift
		}
		sum := 0
		for _, s := range moved {
			from, to := s.From+shift, s.To+shift
			if from >= p.Ticks {
				from, to = from-p.Ticks, to-p.Ticks
			}
			sum += before.at(min(to, p.Ticks)) - before.at(from)
			if to > p.Ticks {
				sum += before.at(to - p.Ticks)
			}
		}
		overlaps[i] += sum
	}
}

// counts has 64 ticks in each element: which ticks lie in stretches, and the number before them. It
// is much smaller than a number for each tick, so that it stays in a cache.
type counts []struct {
	ticks  uint64
	before int
}

// count counts the ticks in a period that lie in stretches.
func count(list []Stretch, ticks int) counts {
	c := make(counts, ticks/64+1)
	for _, s := range list {
		for t := max(s.From, 0); t < min(s.To, ticks); t++ {
			c[t/64].ticks |= 1 << (t % 64)
		}
	}
	for i := range c[1:] {
		c[i+1].before = c[i].before + bits.OnesCount64(c[i].ticks)
	}
	return c
}

// at returns the number of ticks before t that lie in stretches.
func (c counts) at(t int) int {
	of := &c[uint(t)/64]
	return of.before + bits.OnesCount64(of.ticks&(1<<(uint(t)%64)-1))
}

// shares returns, for each value, the share among all values that are at least as large.
func shares(values []int) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	out := make([]float64, len(values))
	for i, v := range values {
		below, _ := slices.BinarySearch(sorted, v)
		out[i] = float64(len(sorted)-below) / float64(len(sorted))
	}
	return out
}

// Periodic reports whether one kind's events recur periodically: the time from each to the next is
// the same, within a tenth. A shift by that period changes nothing, so shifts do not show whether
// stalls that recur at the same period are related to them.
func Periodic(events []Stretch) bool {
	if len(events) < 3 {
		return false
	}
	least, most := events[1].From-events[0].From, 0
	for i := range events[1:] {
		d := events[i+1].From - events[i].From
		least, most = min(least, d), max(most, d)
	}
	return 10*(most-least) <= least
}
