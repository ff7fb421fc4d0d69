package coincidence

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// simulated is a run with two steps, each a minute in 100 ms ticks. Stalls begin at random times.
// So do events, except for those of the last kind, which each have a stall.
type simulated struct {
	stalls  int
	kinds   []int // the number of events in unrelated kinds
	related bool
}

func (s simulated) periods(seed uint64) (periods []Period) {
	random := rand.New(rand.NewPCG(seed, 7))
	place := func(n, least, most int) (list []Stretch) {
		taken := make([]bool, 602)
		for range n {
			from, length := random.IntN(600-most), least+random.IntN(most-least+1)
			if !slices.Contains(taken[from:from+length+1], true) && (from == 0 || !taken[from-1]) {
				for i := from; i < from+length; i++ {
					taken[i] = true
				}
			}
		}
		for i := 0; i < 600; i++ {
			if taken[i] && (i == 0 || !taken[i-1]) {
				list = append(list, Stretch{From: i})
			}
			if taken[i] {
				list[len(list)-1].To = i + 1
			}
		}
		return list
	}
	for range 2 {
		p := Period{Ticks: 600, Stalls: place(s.stalls, 2, 5)}
		for _, n := range s.kinds {
			p.Events = append(p.Events, place(n, 3, 6))
		}
		if s.related {
			var own []Stretch
			for _, of := range p.Stalls {
				own = append(own, Stretch{max(of.From-1, 0), of.From + 2})
			}
			p.Events = append(p.Events, own)
		}
		periods = append(periods, p)
	}
	return periods
}

// Unrelated events count as related in at most 1 % of runs, however many kinds there are, and even
// if there are so few that only the seed could tell them apart.
func TestUnrelated(t *testing.T) {
	runs := 40
	if slowtest.Long() {
		runs = 1000
	}
	named := 0
	for seed := range runs {
		for _, k := range Test(simulated{stalls: 6, kinds: []int{5, 12, 40, 8}}.periods(uint64(seed)), 4, uint64(seed)) {
			if k.P < Level {
				named++
				break
			}
		}
	}
	t.Logf("%d of %d runs named an unrelated kind", named, runs)
	if named > max(runs/100, 1) {
		t.Errorf("%d of %d runs named an unrelated kind, want at most 1 %%", named, runs)
	}
}

// Events that each have a stall are found among unrelated ones, and only they.
func TestRelated(t *testing.T) {
	for seed := range uint64(10) {
		got := Test(simulated{stalls: 6, kinds: []int{12, 40}, related: true}.periods(seed), 3, seed)
		if got[2].P >= Level || got[0].P < Level || got[1].P < Level {
			t.Errorf("seed %d: %+v, want the last kind alone below %v", seed, got, Level)
		}
		if again := Test(simulated{stalls: 6, kinds: []int{12, 40}, related: true}.periods(seed), 3, seed); !slices.Equal(got, again) {
			t.Errorf("seed %d: %+v and then %+v, want the same", seed, got, again)
		}
	}
}

// The p of one kind equals a count over all shifts: among 100 shifts of a two-tick stall, those by
// -1, 0 and 1 overlap with a two-tick event, and only the shift by 0 overlaps fully.
func TestExact(t *testing.T) {
	p := Period{Ticks: 100, Stalls: []Stretch{{98, 100}}, Events: [][]Stretch{{{98, 100}}, {{0, 1}}, {{97, 99}}, nil}}
	got := Test([]Period{p, {Ticks: 0}, {Ticks: 50, Events: [][]Stretch{nil, nil, nil, nil}}}, 4, 1)
	for i, want := range []int{2, 0, 1, 0} {
		if got[i].Overlap != want {
			t.Errorf("kind %d overlaps in %d ticks, want %d", i, got[i].Overlap, want)
		}
	}
	one := Test([]Period{{Ticks: 100, Stalls: p.Stalls, Events: p.Events[:1]}}, 1, 1)
	if one[0].P < 0.007 || one[0].P > 0.013 {
		t.Errorf("p is %v, want about 1 of 100 shifts", one[0].P)
	}
	if got[3].P != 1 || got[1].P != 1 {
		t.Errorf("p without overlap is %v and %v, want 1", got[1].P, got[3].P)
	}
}

// The overlap for every shift equals a count tick by tick, whether stalls or events are fewer.
func TestShifts(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	for range 300 {
		ticks := 1 + random.IntN(200)
		place := func() (list []Stretch) {
			for at := 0; at < ticks && random.IntN(8) > 0; {
				from := at + random.IntN(ticks-at)
				at = from + 1 + random.IntN(min(ticks-from, 70))
				list = append(list, Stretch{from, at})
			}
			return list
		}
		p, events := Period{Ticks: ticks, Stalls: place()}, place()
		by, want := make([]int, ticks), make([]int, ticks)
		for shift := range ticks {
			by[shift] = shift
			for _, s := range p.Stalls {
				for _, e := range events {
					for at := s.From; at < s.To; at++ {
						if moved := (at + shift) % ticks; e.From <= moved && moved < e.To {
							want[shift]++
						}
					}
				}
			}
		}
		got := make([]int, ticks)
		if add(got, p, events, by); !slices.Equal(got, want) {
			t.Fatalf("stalls %v and events %v in %d ticks overlap by shift in %v, want %v", p.Stalls, events, ticks, got, want)
		}
	}
}

func TestPeriodic(t *testing.T) {
	for _, c := range []struct {
		from []int
		want bool
	}{{[]int{5, 75, 146, 215}, true}, {[]int{5, 75, 160}, false}, {[]int{5, 75}, false}, {nil, false}} {
		var list []Stretch
		for _, from := range c.from {
			list = append(list, Stretch{from, from + 3})
		}
		if got := Periodic(list); got != c.want {
			t.Errorf("events at %v are periodic: %v, want %v", c.from, got, c.want)
		}
	}
}
