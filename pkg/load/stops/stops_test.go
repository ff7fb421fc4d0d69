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
		"a client ran just after the watchdog was due": {func(s *Stops) {
			s.Seen(9*ms, 15*ms)
			s.Seen(15*ms, 515*ms)
			s.Beat(0, 516*ms, 526*ms)
		}, 500 * time.Millisecond},
		"two stops": {func(s *Stops) {
			s.Beat(0, 110*ms, 120*ms)
			s.Beat(110*ms, 220*ms, 230*ms)
		}, 200 * time.Millisecond},
		"between two steps": {func(s *Stops) { s.Beat(0, 10*ms, Never); s.Seen(10*ms, 5000*ms) }, 0},
	} {
		s := New(clock.New())
		s.Beat(0, 0, 10*ms)
		c.run(s)
		if got := time.Duration(s.record.TotalNS); got != c.want {
			t.Errorf("%s: want stops of %v, got %v", name, c.want, got)
		}
	}
}

// TestForget: the record restarts, and earlier stops delay as before.
func TestForget(t *testing.T) {
	s := New(clock.New())
	s.Beat(0, 0, 10*ms)
	s.Beat(0, 510*ms, 520*ms)
	s.Forget()
	if all := s.All(); all.N != 0 || all.TotalNS != 0 || len(all.Stretches) != 0 || all.Longest.Length != 0 {
		t.Errorf("want nothing after Forget, got %+v", all)
	}
	if d := s.Delayed(5*ms, 511*ms); d != 500*ms || s.Number() != 1 {
		t.Errorf("want a delay of 500 ms by the stop before, got %v of %d", time.Duration(d), s.Number())
	}
	s.Beat(510*ms, 720*ms, 730*ms)
	if all := s.All(); all.N != 1 || all.TotalNS != 200*ms || len(all.Stretches) != 1 || all.Longest.Length != 200*time.Millisecond {
		t.Errorf("want the stop of 200 ms after Forget, got %+v", all)
	}
}

// TestStopSeconds divides a stop among record seconds.
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
