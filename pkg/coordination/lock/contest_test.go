package lock

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/ability/locks"
	"github.com/coreos/dbtester/pkg/database"
)

// facts returns the facts about locks in the store.
func facts(s *store) database.LockFacts {
	return database.LockFacts{
		What: "mutex", Recipes: []database.LockRecipe{{Name: "direct", Queue: !s.lottery, Places: s.places, Fence: "a number", Waits: "a channel"}},
		Session: database.SessionFacts{Least: time.Second, Step: time.Second, Rule: "after its TTL", Ends: func(time.Duration, int) (earliest, latest time.Duration) { return s.dies, s.dies }},
		Renews:  func(ttl time.Duration) time.Duration { return ttl / 3 },
	}
}

// run has contenders compete in stages that last length.
func run(t *testing.T, s *store, p locks.Plan, length time.Duration) (locks.Outcome, []locks.Turn) {
	t.Helper()
	if p.Names == 0 {
		p.Names = 1
	}
	p.TTL = 6 * time.Second
	c, err := New(Options{
		On: s, Facts: facts(s), Plan: p, Stage: length, Name: "r", Workers: 4,
		Began: func(time.Time, int) {}, Died: func(time.Time) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(len(p.Contenders)+1)*length+time.Second)
	defer cancel()
	if err := c.Run(ctx); err != nil {
		t.Fatalf("compete for locks: %v", err)
	}
	c.End(ctx)
	if len(s.open) > 0 {
		t.Errorf("%d contenders were not closed, want all of them", len(s.open))
	}
	return c.Outcome(func(string, time.Time, int64) {}), c.Turns()
}

// A known time from a release to the next holder is found again within a hundredth, for each number
// of contenders.
func TestHandOff(t *testing.T) {
	for _, hands := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
		t.Run(hands.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, turns := run(t, newStore(hands), locks.Plan{Contenders: []int{2, 10}, Hold: time.Millisecond}, 20*time.Second)
				if len(o.Stages) != 2 || o.Stages[0].Contenders != 2 || o.Stages[1].Contenders != 10 {
					t.Fatalf("the stages are %+v, want one of 2 and one of 10 contenders", o.Stages)
				}
				acquired := int64(0)
				for _, s := range o.Stages {
					acquired += s.Acquired
					for name, got := range map[string]int64{"median": s.HandOff.P50, "p99": s.HandOff.P99, "longest": s.HandOff.Max} {
						if math.Abs(float64(got)-float64(hands)) > float64(hands)/100 {
							t.Errorf("%d contenders: the %s hand-off took %v, want %v", s.Contenders, name, time.Duration(got), hands)
						}
					}
					if want := 1 / (hands + time.Millisecond).Seconds(); math.Abs(s.PerSecond-want) > want/100 {
						t.Errorf("%d contenders: %.1f acquired a second, want %.1f", s.Contenders, s.PerSecond, want)
					}
					f := s.Fairness
					if f.Order != locks.Queue || f.Overtook > 0 || f.Again > 0 || f.Jain < .999 || f.LongestTurns >= int64(s.Contenders) || s.HandOff.N != f.Chances {
						t.Errorf("%d contenders: %+v, want a fair queue", s.Contenders, f)
					}
					if s.Safety != (locks.Safety{}) || s.Refused > 0 || s.Full {
						t.Errorf("%d contenders: %+v, want nothing wrong", s.Contenders, s)
					}
				}
				held := int64(0)
				for _, one := range turns {
					if one.Held() {
						held++
					}
				}
				if held != acquired {
					t.Errorf("%d turns had the lock, want the %d of the stages", held, acquired)
				}
			})
		})
	}
}

// One lock in ten thousand that two hold at once is found, and so is one fence that does not grow.
func TestLies(t *testing.T) {
	for name, c := range map[string]struct {
		lie  func(*store)
		want locks.Safety
	}{
		"held twice": {func(s *store) { s.twice = 10_000 }, locks.Safety{Overlaps: 1}},
		"old fence":  {func(s *store) { s.stuck = 10_000 }, locks.Safety{Disorder: 1}},
		"honest":     {func(*store) {}, locks.Safety{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(time.Millisecond)
				c.lie(s)
				o, _ := run(t, s, locks.Plan{Contenders: []int{5}, Hold: time.Millisecond}, 25*time.Second)
				if got := o.Stages[0]; got.Acquired < 10_000 || got.Safety != c.want {
					t.Errorf("of %d locks: %+v, want %+v of more than 10000", got.Acquired, got.Safety, c.want)
				}
			})
		})
	}
}

// A lottery is a race: its winner overtakes, and releasers win again as often as by chance.
func TestLottery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(time.Millisecond)
		s.lottery, s.places = true, true
		o, _ := run(t, s, locks.Plan{Contenders: []int{5}, Names: 2, Hold: time.Millisecond}, 10*time.Second)
		f := o.Stages[0].Fairness
		if f.Order != locks.Race || f.Overtakes < f.Overtook || f.Assumed {
			t.Errorf("%+v, want a race", f)
		}
		if again := float64(f.Again) / float64(f.Chances); math.Abs(f.ByChance-.2) > .001 || math.Abs(again-f.ByChance) > .05 {
			t.Errorf("the releaser won again in %.3f, by chance %.3f; want both near 1/5", again, f.ByChance)
		}
	})
}

// Elected holders die one after the other, but not without time for a successor.
func TestElect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(2 * time.Millisecond)
		o, turns := run(t, s, locks.Plan{Contenders: []int{3}, Hold: time.Second, Elect: true}, 60*time.Second)
		f := o.Stages[0].FailOver
		if f.Dead < 8 || f.NotTaken > 0 || f.Early > 0 || f.Passed == nil || f.Passed.N != f.Dead {
			t.Fatalf("%+v, want at least 8 deaths and a successor after each", f)
		}
		if want := s.dies + 2*time.Millisecond; time.Duration(f.Passed.P50) != want || time.Duration(f.Passed.Max) != want {
			t.Errorf("locks passed after %v, at most %v; want %v", time.Duration(f.Passed.P50), time.Duration(f.Passed.Max), want)
		}
		if last := o.Stages[0].Safety; last != (locks.Safety{}) {
			t.Errorf("%+v, want nothing wrong", last)
		}
		released := 0
		for _, one := range turns {
			if one.End == locks.Released {
				released++
			}
		}
		if released != 1 {
			t.Errorf("%d locks were released, want that of the last holder", released)
		}
	})
}

// Contenders that cannot be opened are missing, and ones whose session ends get another.
func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(time.Millisecond)
		s.refuses, s.fails = 2, 100
		o, turns := run(t, s, locks.Plan{Contenders: []int{5}, Hold: time.Millisecond}, 10*time.Second)
		is := o.Stages[0]
		refused := int64(0)
		for _, one := range turns {
			if one.End == locks.Refused {
				refused++
			}
		}
		if is.Missing != 2 || is.Why != "no room" || is.Refused == 0 || is.Refused != refused || !strings.Contains(is.WhyRefused, "ended") || is.Acquired < 1000 {
			t.Errorf("%d missing (%s), %d refused (%s), %d by the turns, %d acquired; want 2, some, and the others to go on", is.Missing, is.Why, is.Refused, is.WhyRefused, refused, is.Acquired)
		}
	})
	s := newStore(time.Millisecond)
	s.refuses = 5
	c, err := New(Options{On: s, Facts: facts(s), Plan: locks.Plan{Names: 1, Contenders: []int{5}}, Stage: time.Millisecond, Began: func(time.Time, int) {}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("a stage without contenders returned %v, want the reason", err)
	}
	if _, err := New(Options{Facts: facts(s), Plan: locks.Plan{Recipe: "none"}}); err == nil {
		t.Error("a recipe that is none was taken")
	}
}

// A load that ends early leaves no contender.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(time.Millisecond)
		c, err := New(Options{On: s, Facts: facts(s), Plan: locks.Plan{Names: 1, Contenders: []int{2, 5}, TTL: time.Second}, Stage: 10 * time.Second, Began: func(time.Time, int) {}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		if err := c.Run(ctx); err != nil {
			t.Fatal(err)
		}
		c.End(ctx)
		o := c.Outcome(func(string, time.Time, int64) {})
		if len(s.open) > 0 || len(o.Stages) != 1 || o.Stages[0].Acquired == 0 || o.Left > 0 {
			t.Errorf("%d contenders are open, %d stages; want none and the one that had begun: %+v", len(s.open), len(o.Stages), o)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newStore(time.Millisecond)
		s.mute = true
		c, err := New(Options{On: s, Facts: facts(s), Plan: locks.Plan{Names: 1, Contenders: []int{2}}, Stage: 10 * time.Second, Began: func(time.Time, int) {}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		if err := c.Run(ctx); err != nil {
			t.Errorf("a load that ended while contenders were opened returned %v, want no error", err)
		}
		c.End(ctx)
		if o := c.Outcome(func(string, time.Time, int64) {}); len(o.Stages) > 0 {
			t.Errorf("%d stages, want none: no contender was opened", len(o.Stages))
		}
	})
}
