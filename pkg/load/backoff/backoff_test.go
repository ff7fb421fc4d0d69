package backoff

import (
	"slices"
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	var b Pauses
	want := []time.Duration{10, 20, 40, 80, 160, 320, 640, 1000, 1000}
	for round := range 2 {
		for n, w := range want {
			w *= time.Millisecond
			if got := b.Next(); got < w*8/10 || got > w*12/10 {
				t.Errorf("round %d: pause %d is %v, want %v within 20 %%", round, n+1, got, w)
			}
		}
		b.Reset()
	}
	drawn := make([]time.Duration, 5)
	for n := range drawn {
		drawn[n] = new(Pauses).Next()
	}
	if slices.Min(drawn) == slices.Max(drawn) {
		t.Errorf("five clients pause for %v each, want pauses that differ", drawn[0])
	}
}
