package recovery

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A load has recovered when four whole seconds after a fault are as the ten before it.
func TestLive(t *testing.T) {
	const pending = 3
	for name, tc := range map[string]struct {
		after []Second // of the fault, which is over in the middle of the first one
		want  int      // of them; 0 for never
	}{
		"at once":          {[]Second{{OK: 100}, {OK: 100}, {OK: 95}, {OK: 100}, {OK: 100}}, 5},
		"slow":             {[]Second{{OK: 0}, {OK: 94}, {OK: 100}, {OK: 94}, {OK: 96}, {OK: 96}, {OK: 96}, {OK: 96}}, 8},
		"with a failure":   {[]Second{{OK: 100}, {OK: 100}, {OK: 100, Bad: 1}, {OK: 100}, {OK: 100}, {OK: 100}, {OK: 100}}, 7},
		"with a backlog":   {[]Second{{OK: 200}, {OK: 200, Pending: 4}, {OK: 200, Pending: pending}, {OK: 100, Pending: pending}, {OK: 100}, {OK: 100}}, 6},
		"of no more":       {[]Second{{OK: 100}, {OK: 100}, {OK: 100}, {OK: 100}}, 0},
		"of none answered": {[]Second{{}, {}, {}, {}, {}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				live := NewLive()
				see := func(s Second) {
					s.Start = time.Now()
					time.Sleep(time.Second)
					live.See(s)
				}
				see(Second{OK: 1})  // of which no level is taken
				for n := range 10 { // a backlog is answered in one of them
					see(Second{OK: 100 + 40*int64(n/9), Due: 100, Pending: pending})
				}
				begin := time.Now()
				level := live.Level(begin.Add(-3 * time.Second))
				if level != (Level{100, pending}) || live.Level(begin.Add(-time.Minute)) != level || live.Level(begin) != (Level{}) {
					t.Fatalf("level %+v", level)
				}
				ctx, cancel := context.WithCancel(t.Context())
				came := 0
				done := make(chan int, 1)
				go func() {
					if live.Await(ctx, time.Now().Add(time.Second/2), level) {
						done <- came
					} else {
						done <- 0
					}
				}()
				synctest.Wait()
				for _, s := range tc.after {
					came++
					see(s)
					synctest.Wait()
				}
				cancel()
				if got := <-done; got != tc.want {
					t.Errorf("recovered after %d seconds, want %d", got, tc.want)
				}
			})
		})
	}
}

// A load of which nothing is known has recovered once it is answered.
func TestLiveUnknown(t *testing.T) {
	live := NewLive()
	for range 4 {
		live.See(Second{OK: 1})
	}
	if !live.Await(t.Context(), time.Time{}, Level{}) {
		t.Error("it has not recovered")
	}
}
