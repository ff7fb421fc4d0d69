package lock

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/ability/locks"
	"github.com/coreos/dbtester/pkg/load/stops"
)

const ms = int64(time.Millisecond)

// simulated returns turns by contenders, each of whom asks again when its release is answered. draw
// picks the next holder among those who wait, in the order in which they asked.
func simulated(rng *rand.Rand, contenders, rounds int, draw func(waiting int) int) (turns []locks.Turn) {
	var waiting []*locks.Turn
	ask := func(contender int32, at int64) {
		waiting = append(waiting, &locks.Turn{Contender: contender, Asked: at, Placed: at + ms/2 + rng.Int64N(ms/2)})
	}
	for i := range contenders {
		ask(int32(i), 1+int64(i))
	}
	now := 2 * ms
	for n := range rounds {
		i := draw(len(waiting))
		t := waiting[i]
		waiting = append(waiting[:i], waiting[i+1:]...)
		t.Acquired, t.Sent, t.Fence, t.End = now, now+ms, int64(n+1), locks.Released
		t.Released = t.Sent + ms/2 + rng.Int64N(ms/2)
		turns = append(turns, *t)
		ask(t.Contender, t.Released)
		now = t.Sent + ms + rng.Int64N(ms)
	}
	for _, t := range waiting {
		turns = append(turns, *t)
	}
	return turns
}

// Queues and lotteries are distinguished, whether or not the recipe reports places.
func TestOrder(t *testing.T) {
	for _, places := range []bool{true, false} {
		right := map[locks.Order]int{}
		for seed := range uint64(100) {
			rng := rand.New(rand.NewPCG(seed, 7))
			for want, draw := range map[locks.Order]func(int) int{
				locks.Queue: func(int) int { return 0 }, locks.Race: func(n int) int { return rng.IntN(n) },
			} {
				turns := simulated(rng, 10, 300, draw)
				s := Judge(turns, Rules{From: 1, To: turns[299].Sent, Names: 1, Contenders: 10, Places: places}, func(string, int64, int64) {})
				if s.Fairness.Order == want {
					right[want]++
				}
			}
		}
		if right[locks.Queue] < 98 || right[locks.Race] < 98 {
			t.Errorf("with places reported: %v, of 100 queues and 100 lotteries %v were told as such, want at least 98 each", places, right)
		}
	}
	few := simulated(rand.New(rand.NewPCG(1, 1)), 10, 20, func(int) int { return 0 })
	if s := Judge(few, Rules{Names: 1, Contenders: 10, Places: true}, func(string, int64, int64) {}); s.Fairness.Order != locks.Undecided {
		t.Errorf("20 turns are %v, want them to decide nothing", s.Fairness.Order)
	}
}

// Overlaps are blamed on the store, unless this process was stopped for so long that a session
// may have ended.
func TestBelieved(t *testing.T) {
	turn := func(contender int32, acquired, sent, fence int64) locks.Turn {
		return locks.Turn{Contender: contender, Asked: 1, Acquired: acquired * ms, Sent: sent * ms, Released: sent*ms + 1, Fence: fence, End: locks.Released}
	}
	rules := Rules{To: 60_000 * ms, Names: 1, Contenders: 3, Expires: 10_000 * ms, Risky: 6000 * ms}
	for name, c := range map[string]struct {
		turns []locks.Turn
		stops stops.List
		want  locks.Safety
	}{
		"one after the other": {[]locks.Turn{turn(0, 1, 2, 1), turn(1, 2, 3, 2), turn(2, 3, 4, 3)}, nil, locks.Safety{}},
		"two at once":         {[]locks.Turn{turn(0, 1, 5, 1), turn(1, 4, 6, 2)}, nil, locks.Safety{Overlaps: 1}},
		"two within a long one": {
			[]locks.Turn{turn(0, 1, 50, 1), turn(1, 4, 6, 2), turn(2, 10, 12, 3)}, nil, locks.Safety{Overlaps: 2}},
		"an equal fence": {[]locks.Turn{turn(0, 1, 2, 7), turn(1, 2, 3, 7)}, nil, locks.Safety{Disorder: 1}},
		"a holder that was stopped": {
			[]locks.Turn{turn(0, 1, 20_010, 1)}, stops.List{{From: 10 * ms, To: 20_005 * ms}},
			locks.Safety{Believed: 1, LongestBelieved: 10 * time.Second}},
		"another has the lock after the stop": {
			[]locks.Turn{turn(0, 1, 7010, 1), turn(1, 7006, 7020, 2)}, stops.List{{From: 10 * ms, To: 7005 * ms}}, locks.Safety{Believed: 1}},
		"a stop that ends no session": {
			[]locks.Turn{turn(0, 1, 3010, 1), turn(1, 3006, 3020, 2)}, stops.List{{From: 10 * ms, To: 3005 * ms}}, locks.Safety{Overlaps: 1}},
		"a stop long before": {
			[]locks.Turn{turn(0, 30_000, 30_010, 1), turn(1, 30_006, 30_020, 2)}, stops.List{{From: 10 * ms, To: 7005 * ms}}, locks.Safety{Overlaps: 1}},
		"answers that were read after a stop in another order": {
			[]locks.Turn{turn(0, 7006, 7007, 2), turn(1, 7008, 7009, 1)}, stops.List{{From: 10 * ms, To: 7005 * ms}}, locks.Safety{}},
	} {
		r := rules
		r.Stops = c.stops
		if got := Judge(c.turns, r, func(string, int64, int64) {}).Safety; got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A hand-off needs a waiting contender, and does not include the time for which this process was
// stopped.
func TestPassing(t *testing.T) {
	turns := []locks.Turn{
		{Asked: 1 * ms, Acquired: 2 * ms, Sent: 10 * ms, Released: 11 * ms, Fence: 1, End: locks.Released},
		{Contender: 1, Asked: 5 * ms, Acquired: 13 * ms, Sent: 20 * ms, Released: 21 * ms, Fence: 2, End: locks.Released},                    // after 3 ms
		{Asked: 30 * ms, Acquired: 31 * ms, Sent: 40 * ms, Released: 41 * ms, Fence: 3, End: locks.Released},                                 // after 11 ms
		{Contender: 1, Asked: 35 * ms, Acquired: 540 * ms, Sent: 550 * ms, Released: 551 * ms, Stopped: 495 * ms, Fence: 4, End: locks.Lost}, // after 5 ms
		{Asked: 545 * ms, Acquired: 560 * ms, Sent: 570 * ms, Fence: 5, End: locks.Abandoned},
		{Contender: 1, Asked: 565 * ms, Acquired: 600 * ms, Sent: 610 * ms, Fence: 6, End: locks.Abandoned}, // 30 ms after the death
		{Contender: 2, Asked: 5 * ms, End: locks.Waiting},
		{Contender: 2, Asked: 4 * ms, End: locks.Refused},
	}
	rules := Rules{From: ms, To: 1001 * ms, Names: 1, Contenders: 3, Places: true, Earliest: 40 * ms, Expires: 60 * ms}
	s := Judge(turns, rules, func(string, int64, int64) {})
	if s.HandOff == nil || s.HandOff.N != 3 || s.HandOff.Max != 11*ms || s.Delayed != 1 || s.HandOff.P50 != 5*ms {
		t.Errorf("hand-offs %+v, %d delayed; want those of 3, 5 and 11 ms, and 1", s.HandOff, s.Delayed)
	}
	f := s.FailOver
	if f.Dead != 2 || f.NotTaken != 1 || f.Early != 1 || f.Passed == nil || f.Passed.Max != 30*ms {
		t.Errorf("%+v, want 2 deaths, one of which is not taken, and one that passes too early after 30 ms", f)
	}
	if s.Acquired != 6 || s.PerSecond != 6 || s.Refused != 1 || s.Safety.Lost != 1 {
		t.Errorf("%d acquired, %v/s, %d refused, %d lost; want 6, 6, 1 and 1", s.Acquired, s.PerSecond, s.Refused, s.Safety.Lost)
	}
	if got := s.Fairness; got.LongestWithout != 996*time.Millisecond || got.LongestTurns != 5 || got.Fewest != 0 || got.Most != .5 {
		t.Errorf("%+v, want the third contender to wait until the end, for 996 ms and the 5 turns after it asked", got)
	}
	for early, stop := range map[int64]stops.Stop{0: {From: 545 * ms, To: 556 * ms}, 1: {From: 545 * ms, To: 550 * ms}} {
		rules.Stops = stops.List{stop} // it may have delayed the last renewal by so much
		if f := Judge(turns, rules, func(string, int64, int64) {}).FailOver; f.Early != early {
			t.Errorf("%d locks passed early after a stop of %v, want %d", f.Early, time.Duration(stop.To-stop.From), early)
		}
	}
}
