package poller

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A rest ends with each event: one that came before it, that comes while it begins, and later. The
// test timeout ends one that does not.
func TestRestEndsWithEvents(t *testing.T) {
	s, err := openSet(true)
	if err != nil {
		t.Fatal(err)
	}
	taken := make([]unix.EpollEvent, 8)
	for n := range 3000 {
		if n%3 == 0 {
			s.wake()
		}
		begins, ended := make(chan struct{}), make(chan int)
		go func() {
			close(begins)
			ended <- s.rest.wait(taken, never)
		}()
		if n%3 > 0 {
			<-begins
			for range rand.IntN(n%3*20 + 1) {
				runtime.Gosched()
			}
			s.wake()
		}
		if got := <-ended; got != 1 {
			t.Fatalf("rest %d ended with %d events, want 1", n, got)
		}
	}
}

// A rest without events ends in time.
func TestRestEndsInTime(t *testing.T) {
	s, err := openSet(true)
	if err != nil {
		t.Fatal(err)
	}
	taken := make([]unix.EpollEvent, 8)
	for range 20 {
		began, wait := s.clock.now(), int64(time.Millisecond)
		for left := wait; left > 0; left = began + wait - s.clock.now() {
			for _, e := range taken[:s.rest.wait(taken, left)] {
				if e.Fd != clockSlot {
					t.Errorf("slot %d has an event, want that of the clock only", e.Fd)
				}
			}
		}
	}
}

// Events outside a rest, before the first and after one, are not reported to Go's poller.
func TestOnlyARestIsArmed(t *testing.T) {
	s, err := openSet(true)
	if err != nil {
		t.Fatal(err)
	}
	taken := make([]unix.EpollEvent, 8)
	for _, when := range []string{"before the first rest", "after a rest"} {
		s.wake()
		if n := takeEvents(uintptr(s.rest.epoll), taken); n != 0 {
			t.Errorf("%s %d events are reported, want none", when, n)
		}
		takeEvents(uintptr(s.epoll), taken)
		time.AfterFunc(time.Millisecond, s.wake)
		s.rest.wait(taken, never)
	}
}
