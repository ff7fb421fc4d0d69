package capacity

import (
	"testing"
	"time"
)

// TestWindowAt: windows at low rates are longer, so that five requests may miss the limit.
func TestWindowAt(t *testing.T) {
	c := Plan{At: 99, Window: 8 * time.Second, Settle: 2 * time.Second, Windows: 40, WarmUp: 10 * time.Second, Hold: time.Minute}
	for rate, want := range map[float64]time.Duration{
		1000: 8 * time.Second, 62.5: 8 * time.Second, 50: 10 * time.Second, 30: 16667 * time.Millisecond, 12.5: 32 * time.Second, 1: 32 * time.Second, 0: 32 * time.Second,
	} {
		if got := c.WindowAt(rate); got != want {
			t.Errorf("at %v/s a window takes %v, want %v", rate, got, want)
		}
		if requests := rate * c.WindowAt(rate).Seconds(); requests < 500 && c.WindowAt(rate) < 32*time.Second {
			t.Errorf("at %v/s a window has %v requests, want 500", rate, requests)
		}
	}
	if got := c.Enough(); got != 62.5 {
		t.Errorf("windows are as long as asked for from %v/s on, want 62.5", got)
	}
	for rate, want := range map[float64]time.Duration{1000: 474 * time.Second, 50: 554 * time.Second, 1: 1434 * time.Second} {
		if got := c.Longest(rate); got != want {
			t.Errorf("a search at %v/s takes %v, want %v", rate, got, want)
		}
	}
	if got := c.LastWindow(1); got != time.Minute {
		t.Errorf("a hold takes %v, want what is asked for", got)
	}
	c.Hold = 0
	if got := c.LastWindow(50); got != 10*time.Second {
		t.Errorf("the last window takes %v, want that of its rate", got)
	}
	c.At = 99.9
	if got := c.WindowAt(500); got != 10*time.Second {
		t.Errorf("a window for p99.9 takes %v at 500/s, want 5,000 requests", got)
	}
}
