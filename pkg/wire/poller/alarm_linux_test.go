package poller

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/wire/fiber"
)

// Each wait ends once, never before its time, in every way to wait, busy or not, in any time order,
// while other goroutines add waits.
func TestAlarmsEndWaits(t *testing.T) {
	for name, s := range sets(t) {
		for _, busy := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				zero := time.Now()
				a := s.newAlarms(zero, busy)
				defer a.Close()
				var group sync.WaitGroup
				var waits atomic.Int64
				for range 100 {
					fiber.Go(&group, func(f *fiber.Fiber) {
						for n := range 20 {
							if n%7 == 0 {
								f.Leave()
							}
							until := int64(time.Since(zero)) + rand.Int64N(3e6) - 1e5
							a.Wait(f, until)
							if now := int64(time.Since(zero)); now < until {
								t.Errorf("a wait ended %v before its time", time.Duration(until-now))
							}
							waits.Add(1)
						}
					})
				}
				group.Wait()
				if waits.Load() != 2000 {
					t.Errorf("%d waits have ended, want 2,000", waits.Load())
				}
			})
		}
	}
}

// A wait that begins while the goroutine sleeps or rests for longer ends before that.
func TestAlarmWakes(t *testing.T) {
	for name, s := range sets(t) {
		for _, busy := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				zero := time.Now()
				a := s.newAlarms(zero, busy)
				defer a.Close()
				a.Call(int64(time.Hour), func() int64 { t.Error("an hour has passed"); return never })
				var group sync.WaitGroup
				for n := range 10 {
					wait := time.Duration(1+n%2*5) * time.Millisecond // the longer ones let it rest
					fiber.Go(&group, func(f *fiber.Fiber) { a.Wait(f, int64(time.Since(zero)+wait)) })
					group.Wait() // by the test timeout, if it does not wake
				}
			})
		}
	}
}

// Ending all waits continues waiting fibers, and later waits do not begin; functions continue.
func TestAlarmsEndAll(t *testing.T) {
	for name, s := range sets(t) {
		t.Run(name, func(t *testing.T) {
			zero := time.Now()
			a, other := s.newAlarms(zero, true), s.newAlarms(zero, false)
			defer other.Close()
			var group, others sync.WaitGroup
			for range 50 {
				fiber.Go(&group, func(f *fiber.Fiber) {
					a.Wait(f, int64(time.Hour))
					a.Wait(f, int64(time.Hour))
				})
			}
			fiber.Go(&others, func(f *fiber.Fiber) { other.Wait(f, int64(time.Hour)) })
			a.EndWaits()
			group.Wait()
			called := make(chan struct{})
			a.Call(0, func() int64 { close(called); return never })
			<-called
			a.Close()
			a.Close()
			a.Call(0, func() int64 { t.Error("a function was called after Close"); return never })
			other.EndWaits()
			others.Wait()
		})
	}
}

// Close returns after a running function, which is not called again.
func TestAlarmsClose(t *testing.T) {
	for name, s := range sets(t) {
		t.Run(name, func(t *testing.T) {
			a := s.newAlarms(time.Now(), false)
			running, closed := make(chan struct{}), atomic.Bool{}
			calls := 0
			a.Call(0, func() int64 {
				if calls++; calls == 3 {
					close(running)
				}
				if closed.Load() {
					t.Error("a function runs after Close")
				}
				return 0
			})
			<-running
			a.Close()
			closed.Store(true)
		})
	}
}

// stopped is work that must be done after the function that left it has stopped.
type stopped struct {
	left atomic.Bool
	done chan struct{}
}

func (w *stopped) Work() {
	if w.left.Load() {
		close(w.done)
	}
}

// The goroutine that ends a wait does the work that the function leaves to it, after the function has
// stopped. A wait may end before the function has stopped to wait: then the function continues without
// that goroutine.
func TestAlarmsBatch(t *testing.T) {
	for _, s := range sets(t) {
		zero := time.Now()
		a := s.newAlarms(zero, true)
		for batched := 0; batched < 10; {
			var group sync.WaitGroup
			w := &stopped{done: make(chan struct{})}
			fiber.Go(&group, func(f *fiber.Fiber) {
				if f.Later(w) {
					t.Error("a goroutine that only starts fibers has a batch")
				}
				a.Wait(f, int64(time.Since(zero)+time.Millisecond))
				if f.Later(w) {
					batched++
				} else {
					close(w.done)
				}
				w.left.Store(true)
			})
			<-w.done
			group.Wait()
		}
		a.Close()
	}
}

func TestNoAlarmsOnAFakeClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if a, err := NewAlarms(time.Now(), true); a != nil || err != nil {
			t.Errorf("got %v, error %v on a fake clock, want neither: the kernel does not follow it", a, err)
		}
	})
}
