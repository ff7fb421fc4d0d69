package stops

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/load/clock"
)

// TestDelay has a stop from 10 to 510 ms, and the requests it delayed.
func TestDelay(t *testing.T) {
	for name, c := range map[string]struct {
		// after runs the events after the stop. It returns the call delays.
		after func(*Stops) []int64
		delay []int64 // in ms
		share int64   // in a long wait, in ms
	}{
		"nothing else": {func(*Stops) []int64 { return nil }, nil, 0},
		"an answer at its end": {func(s *Stops) []int64 {
			return []int64{s.Delayed(5*ms, 510*ms)}
		}, []int64{500}, 500},
		"of a call that was sent meanwhile": {func(s *Stops) []int64 {
			return []int64{s.Delayed(110*ms, 511*ms)}
		}, []int64{400}, 500},
		"the servers take longer than the stop": {func(s *Stops) []int64 {
			return []int64{s.Delayed(5*ms, 531*ms), s.Delayed(6*ms, 2000*ms)}
		}, []int64{0, 0}, 0},
		"answers that are read one after the other": {func(s *Stops) []int64 {
			return []int64{s.Delayed(5*ms, 520*ms), s.Delayed(6*ms, 540*ms), s.Delayed(7*ms, 560*ms), s.Delayed(8*ms, 581*ms)}
		}, []int64{500, 500, 500, 0}, 500},
		"calls after the stop are none of them": {func(s *Stops) []int64 {
			return []int64{s.Delayed(510*ms, 525*ms), s.Delayed(515*ms, 530*ms), s.Delayed(8*ms, 540*ms)}
		}, []int64{0, 0, 0}, 0},
		"an answer from before its end": {func(s *Stops) []int64 {
			return []int64{s.Delayed(5*ms, 509*ms)}
		}, []int64{0}, 0},
		"due to a free client":               {func(s *Stops) []int64 { s.Woke(300*ms, 700*ms); return nil }, nil, 500},
		"due to a free client that was late": {func(s *Stops) []int64 { s.Woke(600*ms, 700*ms); return nil }, nil, 0},
		"a client was free since": {func(s *Stops) []int64 {
			d := s.Delayed(5*ms, 511*ms)
			s.Free(1)
			return []int64{d}
		}, []int64{500}, 0},
		"a client was free before the answer was read": {func(s *Stops) []int64 {
			s.Free(1)
			return []int64{s.Delayed(5*ms, 515*ms)}
		}, []int64{500}, 0},
		"a client was free before": {func(s *Stops) []int64 {
			d := s.Delayed(5*ms, 511*ms)
			s.Free(0)
			return []int64{d}
		}, []int64{500}, 500},
		"two stops with little between": {func(s *Stops) []int64 {
			s.Seen(519*ms, 1020*ms)
			return []int64{s.Delayed(5*ms, 1021*ms)}
		}, []int64{1000}, 1000},
		"two stops with an answer between": {func(s *Stops) []int64 {
			d := s.Delayed(5*ms, 512*ms)
			s.Seen(519*ms, 1020*ms)
			return []int64{d, s.Delayed(6*ms, 1021*ms), s.Delayed(513*ms, 1022*ms)}
		}, []int64{500, 1000, 500}, 1000},
		"two stops, and the process ran between them": {func(s *Stops) []int64 {
			for at := 515 * ms; at < 540*ms; at += 10 * ms {
				s.Beat(at-10*ms, at, at+10*ms)
			}
			s.Seen(540*ms, 1045*ms) // from 545 ms on
			return []int64{s.Delayed(5*ms, 1046*ms)}
		}, []int64{500}, 500},
		"a client was free between two stops": {func(s *Stops) []int64 {
			d := s.Delayed(5*ms, 512*ms)
			s.Free(1)
			s.Seen(519*ms, 1020*ms)
			return []int64{d, s.Delayed(513*ms, 1021*ms)}
		}, []int64{500, 500}, 500},
	} {
		s := New(clock.New())
		s.Beat(0, 0, 10*ms)
		s.Seen(9*ms, 510*ms)
		for n, got := range c.after(s) {
			if got != c.delay[n]*ms {
				t.Errorf("%s: want a delay of %d ms of call %d, got %v", name, c.delay[n], n, time.Duration(got))
			}
		}
		if got := s.Share(int64(time.Hour)); got != c.share*ms {
			t.Errorf("%s: want a share of %d ms of a long wait, got %v", name, c.share, time.Duration(got))
		}
		if got := s.Share(2 * ms); got != min(2, c.share)*ms {
			t.Errorf("%s: want a share of a wait of 2 ms of at most that, got %v", name, time.Duration(got))
		}
	}
}

// TestBefore: an answer read right after a stop may have arrived during it; one read later did not.
func TestBefore(t *testing.T) {
	s := New(clock.New())
	s.Beat(0, 0, 10*ms)
	s.Beat(0, 510*ms, 520*ms) // a stop from 10 ms on
	for _, c := range []struct {
		read, from int64
		length     time.Duration
	}{{509, 0, 0}, {511, 10, 500 * time.Millisecond}, {531, 10, 500 * time.Millisecond}, {560, 0, 0}} {
		if from, length := s.Before(c.read * ms); from != c.from*ms || length != c.length {
			t.Errorf("what is read at %d ms: want a stop of %v from %d ms on, got %v from %v on", c.read, c.length, c.from, length, time.Duration(from))
		}
	}
}

// TestWatchdog: a late watchdog shows a stop; after its end nothing shows one.
func TestWatchdog(t *testing.T) {
	var missed atomic.Int64
	c := clock.Missing(&missed)
	s := New(c)
	w := s.Watchdog()
	missed.Store(510 * ms)
	if late, next := w.Beat(); late < 500*ms || next < 520*ms || s.Number() != 1 {
		t.Errorf("a beat that is 500 ms late is %v late, the next is due at %v, %d stops; want 1", time.Duration(late), time.Duration(next), s.Number())
	}
	w.End()
	missed.Store(5000 * ms)
	if s.Seen(c.Now(), c.Now()); s.Number() != 1 {
		t.Errorf("%d stops after the end of the watchdog, want 1", s.Number())
	}
}

// TestNoDelay has no stop.
func TestNoDelay(t *testing.T) {
	s := New(clock.New())
	s.Beat(0, 0, 10*ms)
	s.Woke(0, 9*ms)
	s.Free(0)
	if d := s.Delayed(0, 9*ms); d != 0 || s.Share(300*ms) != 0 || s.Number() != 0 {
		t.Errorf("without a stop: want no delay, because the client always ran, got %v and a share of %v", time.Duration(d), time.Duration(s.Share(300*ms)))
	}
}

// TestLongRow: a process that is always stopped keeps a bounded list.
func TestLongRow(t *testing.T) {
	s := New(clock.New())
	s.Beat(0, 0, 10*ms)
	end := int64(0)
	for range 3*maxRow + 1 {
		s.Seen(end, end+30*ms)
		end += 30 * ms
	}
	if n := len(s.row.Load().stops); n != 1 {
		t.Errorf("row of %d stops, want 1 after three full rows", n)
	}
	if s.Number() != 3*maxRow+1 {
		t.Errorf("%d stops, want %d", s.Number(), 3*maxRow+1)
	}
	if d := s.Delayed(0, end); d != 20*ms {
		t.Errorf("delay of %v, want that of the last row, 20ms", time.Duration(d))
	}
}
