package fiber

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server continues fibers on its goroutine, in the order of their requests.
type server struct {
	asked chan *Fiber
	runs  sync.WaitGroup
}

func newServer(t *testing.T) *server {
	s := &server{asked: make(chan *Fiber, 1000)}
	s.runs.Go(func() {
		for f := range s.asked {
			f.Continue()
		}
	})
	t.Cleanup(func() { close(s.asked); s.runs.Wait() })
	return s
}

func (s *server) ask(f *Fiber) {
	s.asked <- f
	f.Wait()
}

func TestWait(t *testing.T) {
	const fibers, waits = 100, 1000
	servers := []*server{newServer(t), newServer(t), newServer(t)}
	var group sync.WaitGroup
	var done atomic.Int64
	for n := range fibers {
		Go(&group, func(f *Fiber) {
			for i := range waits {
				servers[(n+i)%len(servers)].ask(f)
			}
			done.Add(1)
		})
	}
	group.Wait()
	if done.Load() != fibers {
		t.Errorf("%d of %d fibers have ended", done.Load(), fibers)
	}
}

// Fibers that run one after another borrow the same memory, and a fiber that runs concurrently has
// its own until it waits.
func TestBorrow(t *testing.T) {
	const fibers, size = 100, 300
	servers := []*server{newServer(t), newServer(t)}
	var group sync.WaitGroup
	for n := range fibers {
		Go(&group, func(f *Fiber) {
			for i := range 100 {
				b := f.Borrow(size)
				if len(b) != 0 || cap(b) < size {
					t.Errorf("Borrow(%d) has length %d and room for %d, want 0 and enough", size, len(b), cap(b))
					return
				}
				b = b[:size]
				for j := range b {
					b[j] = byte(n)
				}
				if again := f.Borrow(size)[:size]; &again[0] != &b[0] {
					t.Error("before a wait, the second Borrow has other memory")
				}
				if more := f.Borrow(3 * size)[:3*size]; cap(more) < 3*size {
					t.Errorf("Borrow(%d) has room for %d", 3*size, cap(more))
				}
				b = f.Borrow(size)[:size]
				for j := range b {
					b[j] = byte(n)
				}
				if i%10 == 0 {
					f.Leave()
				}
				for j := range b {
					if b[j] != byte(n) {
						t.Errorf("another wrote %d before fiber %d waited", b[j], n)
						return
					}
				}
				servers[(n+i)%len(servers)].ask(f)
			}
		})
	}
	group.Wait()
}

func TestContinueComesFirst(t *testing.T) {
	var group sync.WaitGroup
	passed := false
	Go(&group, func(f *Fiber) {
		f.Continue()
		f.Wait()
		passed = true
	})
	group.Wait()
	if !passed {
		t.Error("the fiber did not go on")
	}
}

// A function that leaves may wait for the very goroutine that continued it.
func TestLeave(t *testing.T) {
	var group sync.WaitGroup
	waits, freed := make(chan *Fiber, 1), make(chan struct{})
	for range 100 {
		Go(&group, func(f *Fiber) {
			waits <- f
			f.Wait()
			f.Leave()
			f.Leave()
			<-freed
		})
		(<-waits).Continue()
		freed <- struct{}{}
	}
	group.Wait()
}

func TestLeaveWithoutFiber(t *testing.T) {
	Leave(context.Background())
	f, left := Of(context.Background())
	if f != nil || left != 0 {
		t.Errorf("Of(context.Background()) = %v, %v; want none", f, left)
	}
	f.Leave()
	f.Interrupt()
}

type own struct {
	context.Context
	fiber *Fiber
}

func (o own) Fiber() *Fiber { return o.fiber }

func (o own) Left() time.Duration { return time.Second }

func (o own) Value(key any) any {
	if key == any(Key{}) {
		return o.fiber
	}
	return o.Context.Value(key)
}

type stopped struct {
	fiber *Fiber
	times int
}

func (s *stopped) Interrupt() {
	s.times++
	go s.fiber.Continue()
}

func TestInterrupt(t *testing.T) {
	var group sync.WaitGroup
	what := &stopped{}
	started := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	Go(&group, func(f *Fiber) {
		what.fiber = f
		f.Interrupt() // nothing waits
		f.WaitsFor(ctx, what)
		close(started)
		f.Wait()
		f.Waited()
		f.Interrupt()
	})
	<-started
	what.fiber.Interrupt() // for an earlier context: this one has not ended
	cancel()
	what.fiber.Interrupt()
	group.Wait()
	if what.times != 1 {
		t.Errorf("interrupted %d times, want once", what.times)
	}
}

// A context that is derived from a fiber's own makes the fiber leave, but not wait.
func TestDerivedContext(t *testing.T) {
	var group sync.WaitGroup
	Go(&group, func(f *Fiber) {
		ctx := own{context.Background(), f}
		if own, _ := Of(ctx); own != f {
			t.Error("the fiber's own context has another fiber")
		}
		derived, cancel := context.WithCancel(ctx)
		defer cancel()
		if other, _ := Of(derived); other != nil {
			t.Error("a derived context has a fiber, want none")
		}
		f.Continue()
		f.Wait()
		if Leave(derived); f.borrowed {
			t.Error("a derived context did not leave the goroutine")
		}
	})
	group.Wait()
}

func BenchmarkSwitch(b *testing.B) {
	b.Run("fiber", func(b *testing.B) {
		var group sync.WaitGroup
		var f *Fiber
		ready := make(chan struct{})
		Go(&group, func(own *Fiber) {
			f = own
			close(ready)
			for range b.N {
				own.Wait()
			}
		})
		<-ready
		for range b.N {
			f.Continue()
		}
		group.Wait()
	})
	b.Run("goroutine", func(b *testing.B) {
		wake, woken := make(chan struct{}, 1), make(chan struct{}, 1)
		var group sync.WaitGroup
		group.Go(func() {
			for range b.N {
				<-wake
				woken <- struct{}{}
			}
		})
		for range b.N {
			wake <- struct{}{}
			<-woken
		}
		group.Wait()
	})
}
