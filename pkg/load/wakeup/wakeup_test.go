package wakeup

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
)

// TestWakeupIsSetForTheNextWait steps the clock through random waits. The timerfd
// is always set for the first one that has not ended, but never twice within the
// pause.
func TestWakeupIsSetForTheNextWait(t *testing.T) {
	var now int64
	a, err := New(func() int64 { return now }, 3)
	if err != nil {
		t.Fatalf("set up wake-ups: %v", err)
	}
	defer a.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	var waits []int64
	for range 10_000 {
		if rng.IntN(2) == 0 {
			due := now + 1 + rng.Int64N(2_000_000)
			waits = append(waits, due)
			a.Add(due)
		} else {
			now += rng.Int64N(400_000)
			waits = slices.DeleteFunc(waits, func(due int64) bool { return due <= now })
			a.Next()
		}
		if len(waits) == 0 {
			continue
		}
		first := slices.Min(waits)
		if want := max(first+wakeupAfter, a.last+wakeupPause); a.at != want || a.at <= now && first > now {
			t.Fatalf("at %d the timerfd is set to %d, want %d for a wait until %d after it fired at %d", now, a.at, want, first, a.last)
		}
	}
	if a.last == 0 {
		t.Error("the timerfd never fired, want it to fire for the waits")
	}
}

func TestNoWakeupOnAFakeClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if a, err := New(func() int64 { return 0 }, 1); a != nil || err != nil {
			t.Errorf("got %v, error %v on a fake clock, want neither: the kernel does not follow it", a, err)
		}
	})
}
