package recovery

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// shown shows a load with 100 requests a tick, second by second from now on. ok returns the number
// of requests in a tick that end ok, and failed the number that fail.
func shown(t *testing.T, live *Live, step int, ticks int, ok, failed func(tick int) int64) {
	t.Helper()
	start, tick := time.Now(), int64(results.ProgressTick)
	var rows []results.Progress
	for i := range int64(ticks) {
		p := results.Progress{Step: step, FromNS: i * tick, ToNS: (i + 1) * tick, Operation: "write", Due: 100, OK: ok(int(i)), Failed: failed(int(i))}
		if p.OK > 0 {
			p.Answered(p.FromNS+10, p.ToNS-10)
		}
		if rows = append(rows, p); len(rows) == int(time.Second)/int(tick) {
			time.Sleep(time.Second)
			live.See(step, start, rows)
			rows = rows[:0]
			synctest.Wait()
		}
	}
}

// within is one number in the ticks [from, to), and another number elsewhere.
func within(from, to int, is, otherwise int64) func(tick int) int64 {
	return func(tick int) int64 {
		if tick >= from && tick < to {
			return is
		}
		return otherwise
	}
}

// Await waits until a load has recovered by the rule for its records.
func TestLive(t *testing.T) {
	all := func(int) int64 { return 100 }
	for name, tc := range map[string]struct {
		ok, failed func(tick int) int64 // the disturbance is from 10 s to 12 s
		want       time.Duration        // from the beginning; 0 for never
	}{
		"at once": {all, none, 14 * time.Second},
		"slow until 15 s": {func(tick int) int64 {
			if tick >= 150 {
				return within(150, 200, 110, 100)(tick) // the backlog is gone at 20 s
			}
			return within(100, 150, 90, 100)(tick)
		}, none, 22 * time.Second},
		"failures until 13.5 s": {all, within(100, 135, 1, 0), 16 * time.Second},
		"never again":           {within(100, 300, 90, 100), none, 0},
		"a backlog until 16 s": {func(tick int) int64 {
			if tick >= 120 {
				return within(120, 160, 150, 100)(tick)
			}
			return within(100, 120, 0, 100)(tick)
		}, none, 18 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				live, begin := NewLive(workload.Load{Pace: workload.Pace{Rate: 1000}}), time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				got := make(chan time.Duration, 1)
				go func() {
					time.Sleep(10 * time.Second)
					live.Begin(time.Now())
					time.Sleep(2 * time.Second)
					after := time.Duration(0)
					if live.Await(ctx, time.Now()) {
						after = time.Since(begin)
					}
					got <- after
				}()
				shown(t, live, 0, 300, tc.ok, tc.failed)
				cancel()
				if is := <-got; is != tc.want {
					t.Errorf("recovered after %v, want %v", is, tc.want)
				}
				if n := len(live.timeline.ticks); tc.want > 0 && n > 300 {
					t.Errorf("%d ticks are kept", n)
				}
			})
		})
	}
}

// Each disturbance is compared with the time since the previous one. For an unknown load, and for
// steps, the time after it counts.
func TestLiveAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := NewLive(workload.Load{Pace: workload.Pace{Rate: 1000}, Limits: workload.Limits{}})
		all := func(int) int64 { return 100 }
		for step := range 3 {
			live.Begin(time.Now())
			done := make(chan bool, 1)
			go func() { done <- live.Await(t.Context(), time.Now()) }()
			shown(t, live, step, 50, all, none)
			select {
			case <-done:
			default:
				t.Fatalf("not recovered in step %d", step)
			}
		}
		if n := len(live.timeline.ticks); n != 150 {
			t.Errorf("%d ticks are kept of 150", n)
		}
	})
}

// Late rows add to their ticks, and change the pending requests in these and later ticks.
func TestLate(t *testing.T) {
	length := int64(results.ProgressTick)
	row := func(n, due, ok int64) results.Progress {
		return results.Progress{FromNS: n * length, ToNS: (n + 1) * length, Due: due, OK: ok}
	}
	var whole, late Timeline
	p := part{to: 10 * length}
	whole.add([]results.Progress{row(0, 5, 5), row(1, 5, 3), row(3, 5, 7)}, p)
	late.add([]results.Progress{row(0, 5, 5), row(3, 5, 7)}, p)
	late.add([]results.Progress{row(1, 2, 0)}, p)
	late.add([]results.Progress{row(1, 3, 3)}, p)
	if diff := cmp.Diff(whole.ticks, late.ticks, cmp.AllowUnexported(tick{})); diff != "" {
		t.Errorf("late rows (-want +got):\n%s", diff)
	}
	if got := whole.ticks[2].pending; got != 0 {
		t.Errorf("%d are pending, want none", got)
	}
}
