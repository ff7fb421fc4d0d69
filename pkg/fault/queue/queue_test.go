package queue

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// Packets are delayed, and pass the bandwidth one after the other: 1,000 bytes take 8 ms at 1
// Mbit/s. A packet that would wait for more than a tenth of a second is dropped.
func TestLine(t *testing.T) {
	for name, tc := range map[string]struct {
		line      Line
		now, want []time.Duration
	}{
		"nothing":   {Line{}, []time.Duration{0, 5 * ms}, []time.Duration{0, 5 * ms}},
		"later":     {Line{Delay: 50 * ms}, []time.Duration{0, 5 * ms, 5 * ms}, []time.Duration{50 * ms, 55 * ms, 55 * ms}},
		"bandwidth": {Line{Rate: 1e6}, []time.Duration{0, 0, 0, 30 * ms}, []time.Duration{8 * ms, 16 * ms, 24 * ms, 38 * ms}},
		"both":      {Line{Delay: 50 * ms, Rate: 1e6}, []time.Duration{0, 0}, []time.Duration{58 * ms, 66 * ms}},
		"too much":  {Line{Rate: 80_000}, []time.Duration{0, 0, 1 * ms, 100 * ms}, []time.Duration{100 * ms, 200 * ms, -1, 300 * ms}},
	} {
		l := line{Line: tc.line}
		for i, now := range tc.now {
			got, ok := l.take(now, 1000)
			if want := tc.want[i]; ok != (want >= 0) || ok && got != want {
				t.Errorf("%s: packet %d goes on at %v, %v, want %v", name, i+1, got, ok, want)
			}
		}
	}
}

func TestTally(t *testing.T) {
	var y tally
	if y.sums() != (Counted{}) {
		t.Errorf("nothing is %+v", y.sums())
	}
	y.pass(900*ms, 800*ms, 100)
	y.pass(990*ms, 980*ms, 100)
	y.pass(1010*ms, 970*ms, 150)
	want := Counted{Packets: 3, Bytes: 350, Mean: 50 * ms, Longest: 100 * ms, Busiest: 1600}
	if got := y.sums(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
