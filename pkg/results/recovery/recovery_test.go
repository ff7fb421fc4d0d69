package recovery

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// begin is when test loads begin.
var begin = time.Unix(1_000_000, 0).UTC()

// load returns a load with 100 requests due in each 100 ms tick, for some ticks. ok returns the
// number of requests in a tick that end ok, and failed the number that fail.
func load(ticks int, ok, failed func(tick int) int64) *Timeline {
	tick := int64(results.ProgressTick)
	end := begin.Add(time.Duration(int64(ticks) * tick))
	run := &results.DatabaseRun{
		Load:  results.Load{Load: workload.Load{Pace: workload.Pace{Rate: 1000}}},
		Steps: []results.Step{{Step: workload.Step{Rate: 1000, Duration: end.Sub(begin)}, Start: begin, End: end, IssueEnd: end}},
	}
	var rows []results.Progress
	for i := range int64(ticks) {
		p := results.Progress{FromNS: i * tick, ToNS: (i + 1) * tick, Operation: "write", Due: 100, OK: ok(int(i)), Failed: failed(int(i))}
		if p.OK > 0 {
			p.Answered(p.FromNS+10, p.ToNS-10)
		}
		rows = append(rows, p)
	}
	return newTimeline(rows, run)
}

func none(int) int64 { return 0 }

// after returns a time after a load begins.
func after(d time.Duration) time.Time { return begin.Add(d) }

// A disturbance at 10 s lasts 3 s. No request is answered from 10.5 s to 12.5 s; then each tick
// answers 150, with 2,000 missing.
func TestOf(t *testing.T) {
	timeline := load(400, func(tick int) int64 {
		switch {
		case tick < 105:
			return 100
		case tick < 125:
			return 0
		case tick < 165:
			return 150
		}
		return 100
	}, none)
	r := timeline.Of(Disturbance{From: after(10 * time.Second), To: after(13 * time.Second)})
	if r == nil {
		t.Fatal("nothing is known of the disturbance")
	}
	if r.Level != 1000 || r.Before != 10*time.Second {
		t.Errorf("level %v of %v, want 1,000 a second of 10 s", r.Level, r.Before)
	}
	if want := 2*time.Second + 20; r.Blackout != want || r.BlackoutAt != 500*time.Millisecond-10 {
		t.Errorf("blackout %v at %v, want %v at 500 ms", r.Blackout, r.BlackoutAt, want)
	}
	// The last tick before the gap ends may begin the two seconds: one tick may be empty.
	if r.To95 < 2400*time.Millisecond || r.To95 > 2500*time.Millisecond {
		t.Errorf("95 %% after %v, want the end of the gap", r.To95)
	}
	// 2,000 are missing after the gap, and each tick answers 50 more than are due.
	if want := 6500 * time.Millisecond; r.BacklogGone != want {
		t.Errorf("backlog gone after %v, want %v", r.BacklogGone, want)
	}
	if !r.Recovered || !r.Until.Equal(after(16500*time.Millisecond)) {
		t.Errorf("recovered %v at %v, want at the end of the backlog", r.Recovered, r.Until.Sub(begin))
	}
	if r.Below < 2*time.Second || r.Below > 3*time.Second {
		t.Errorf("below the level for %v", r.Below)
	}
}

// A second without an answer is not hidden by the backlog answered right after it.
func TestOfShort(t *testing.T) {
	timeline := load(300, func(tick int) int64 {
		switch {
		case tick >= 100 && tick < 107:
			return 0
		case tick == 107:
			return 800
		}
		return 100
	}, none)
	r := timeline.Of(Disturbance{From: after(10 * time.Second), To: after(12 * time.Second)})
	if r == nil || r.Blackout < 700*time.Millisecond || r.To95 < 600*time.Millisecond && r.Below > 0 {
		t.Errorf("got %+v, want 95 %% after the time without an answer", r)
	}
}

// A load without any effect has recovered when the disturbance is over.
func TestOfNoEffect(t *testing.T) {
	timeline := load(300, func(int) int64 { return 100 }, none)
	r := timeline.Of(Disturbance{From: after(10 * time.Second), To: after(12 * time.Second)})
	if r == nil || r.To95 != 0 || r.Below != 0 || r.BacklogGone != 0 || !r.Recovered || !r.Until.Equal(after(12*time.Second)) {
		t.Fatalf("got %+v, want no effect", r)
	}
	if r.Blackout > results.ProgressTick {
		t.Errorf("blackout %v of a load that was always answered", r.Blackout)
	}
}

// A load that is not as before does not recover, and failing requests prevent a recovery.
func TestOfNotRecovered(t *testing.T) {
	half := load(300, func(tick int) int64 {
		if tick < 100 {
			return 100
		}
		return 50
	}, none)
	r := half.Of(Disturbance{From: after(10 * time.Second), To: after(12 * time.Second)})
	if r == nil || r.Recovered || r.To95 != Never || r.BacklogGone != Never || !r.Until.Equal(after(30*time.Second)) {
		t.Errorf("half of the load: %+v, want one that did not recover", r)
	}
	failing := load(300, func(int) int64 { return 100 }, func(tick int) int64 {
		if tick >= 100 && tick%10 == 0 {
			return 1
		}
		return 0
	})
	r = failing.Of(Disturbance{From: after(10 * time.Second), To: after(12 * time.Second)})
	if r == nil || r.Recovered || r.Failed != 20 {
		t.Errorf("a load of which requests fail: %+v, want 20 failed and no recovery", r)
	}
}

// No request is answered from a disturbance to the end: the gap is as long as the load shows.
func TestOfNeverAgain(t *testing.T) {
	timeline := load(300, func(tick int) int64 {
		if tick < 100 {
			return 100
		}
		return 0
	}, none)
	r := timeline.Of(Disturbance{From: after(10 * time.Second), To: after(12 * time.Second)})
	if r == nil || r.Blackout != 20*time.Second+10 || r.Recovered {
		t.Errorf("got %+v, want a gap of 20 s", r)
	}
}

// The level is from the time since the previous disturbance, and the search ends at the next one.
// Without a second to compare with, nothing is known.
func TestOfAmongOthers(t *testing.T) {
	timeline := load(300, func(tick int) int64 {
		if tick < 50 {
			return 200
		}
		return 100
	}, none)
	d := Disturbance{From: after(10 * time.Second), To: after(11 * time.Second), Since: after(6 * time.Second), Until: after(14 * time.Second)}
	r := timeline.Of(d)
	if r == nil || r.Level != 1000 || r.Before != 4*time.Second || !r.Recovered {
		t.Errorf("got %+v, want a level of 1,000 a second of 4 s", r)
	}
	d.Until = after(11500 * time.Millisecond)
	if r := timeline.Of(d); r == nil || r.Recovered {
		t.Errorf("got %+v, want no recovery within half a second", r)
	}
	d.Since = after(9500 * time.Millisecond)
	if r := timeline.Of(d); r != nil {
		t.Errorf("got %+v of half a second, want nothing", r)
	}
	d.Before = &Recovery{Level: 900, Pending: 7}
	if r := timeline.Of(d); r == nil || r.Level != 900 || r.Pending != 7 || r.Before != 0 {
		t.Errorf("got %+v of half a second, want the level of the disturbance before", r)
	}
}

// A load that answers a backlog before a disturbance has no level above its rate.
func TestOfCatchingUp(t *testing.T) {
	timeline := load(300, func(tick int) int64 {
		switch {
		case tick < 20:
			return 150
		case tick >= 100 && tick < 105:
			return 0
		}
		return 100
	}, none)
	r := timeline.Of(Disturbance{From: after(10 * time.Second), To: after(11 * time.Second)})
	if r == nil || r.Level != 1000 || !r.Recovered {
		t.Errorf("recovery %+v, want one of 1,000 a second", r)
	}
}

// Whatever a load does after it has recovered changes nothing: neither a late dip nor a late
// backlog.
func TestOfLater(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	d := Disturbance{From: after(10 * time.Second), To: after(13 * time.Second)}
	settled, late := 0, 0
	for range 60 {
		ok, failed, pending := make([]int64, 400), make([]int64, 400), int64(0)
		lasts := random.IntN(2) * 125
		for tick := range ok {
			pending += 100
			ok[tick] = min(pending, 150)
			switch {
			case tick >= 105 && tick < lasts:
				ok[tick] = 0
			case tick >= 100 && random.IntN(60) == 0:
				ok[tick] = random.Int64N(50)
				failed[tick] = random.Int64N(2)
			}
			pending -= ok[tick] + failed[tick]
		}
		of := func(list []int64) func(int) int64 { return func(tick int) int64 { return list[tick] } }
		whole := load(len(ok), of(ok), of(failed))
		var first *Recovery
		for ticks := 131; ticks <= len(ok); ticks += 1 + random.IntN(3) {
			r := (&Timeline{whole.ticks[:ticks], true}).Of(d)
			switch {
			case first != nil && *r != *first:
				t.Fatalf("with %d ticks %+v, before %+v", ticks, r, first)
			case first == nil && r.Recovered:
				first = r
				settled++
			}
		}
		if first != nil && slices.Min(ok[400-50:]) < 90 {
			late++
		}
	}
	if settled < 40 || late < 20 {
		t.Errorf("%d loads recovered, %d with dips later: the test sees too little", settled, late)
	}
}
