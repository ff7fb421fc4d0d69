package stops

import (
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/load/clock"
)

const ms = int64(time.Millisecond)

// TestStops notices stops as the watchdog and clients do.
func TestStops(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(*Stops)
		want time.Duration
	}{
		"the watchdog is on time":   {func(s *Stops) { s.Beat(10*ms, 20*ms, 30*ms); s.Beat(20*ms, 30*ms, 40*ms) }, 0},
		"the watchdog is 9 ms late": {func(s *Stops) { s.Beat(0, 19*ms, 30*ms) }, 0},
		"the watchdog notices":      {func(s *Stops) { s.Beat(0, 510*ms, 520*ms) }, 500 * time.Millisecond},
		"a client notices before the watchdog": {func(s *Stops) {
			s.Seen(9*ms, 509*ms)
			s.Beat(0, 510*ms, 520*ms)
		}, 499 * time.Millisecond},
		"a client ran while the watchdog waited": {func(s *Stops) {
			s.Seen(9*ms, 19*ms)
			s.Seen(19*ms, 29*ms)
			s.Beat(0, 38*ms, 48*ms)
		}, 0},
		"two stops": {func(s *Stops) {
			s.Beat(0, 110*ms, 120*ms)
			s.Beat(110*ms, 220*ms, 230*ms)
		}, 200 * time.Millisecond},
		"between two steps": {func(s *Stops) { s.Beat(0, 10*ms, Never); s.Seen(10*ms, 5000*ms) }, 0},
	} {
		s := New(clock.New())
		s.Beat(0, 0, 10*ms)
		c.run(s)
		if got := time.Duration(s.total.Load()); got != c.want {
			t.Errorf("%s: want stops of %v, got %v", name, c.want, got)
		}
	}
}

// TestStopShare is the rule by which a queued request's wait counts as the client's.
func TestStopShare(t *testing.T) {
	s := New(clock.New())
	s.Beat(0, 0, 10*ms)
	if got := s.Share(300 * ms); got != 0 {
		t.Errorf("share without a stop: want 0, because the client always ran, got %v", time.Duration(got))
	}
	s.Free(s.total.Load())
	s.Beat(0, 510*ms, 520*ms)
	for wait, want := range map[int64]int64{
		2 * ms:   2 * ms,   // it queued in or after the stop, and would not have
		700 * ms: 500 * ms, // it would have queued for 200 ms anyway
	} {
		if got := s.Share(wait); got != want {
			t.Errorf("share of a wait of %v after a stop of 500 ms: want %v, got %v", time.Duration(wait), time.Duration(want), time.Duration(got))
		}
	}
	s.Free(s.total.Load())
	if got := s.Share(700 * ms); got != 0 {
		t.Errorf("share after a client was free: want 0, because the stop's queue is worked off, got %v", time.Duration(got))
	}
}

// TestStopSeconds divides a stop among the seconds of the records.
func TestStopSeconds(t *testing.T) {
	c := clock.New()
	s := New(c)
	sec := c.Second(0) + 1
	start := c.SecondStart(sec)
	s.Beat(0, 0, start+400*ms)
	s.Beat(0, start+2100*ms, Never)
	for n, want := range []int64{600, 1000, 100, 0} {
		if got := s.In(sec + int64(n)); got != want*ms {
			t.Errorf("second %d of a stop from 0.4 s to 2.1 s: want %d ms, got %v", n, want, time.Duration(got))
		}
	}
	all := s.All()
	if all.N != 1 || all.TotalNS != 1700*ms || len(all.Stretches) != 1 || all.Stretches[0] != all.Longest || !all.Longest.From.Equal(c.Time(start+400*ms)) {
		t.Errorf("record: want one stop of 1.7s from 0.4 s on, got %+v", all)
	}
}
