package main

import (
	"math"
	"testing"
)

// TestMemoryFor: small records have no bound, and steps raise it.
func TestMemoryFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ records, steps, least, most int64 }{
		{50 << 20, 300, math.MaxInt64, math.MaxInt64},
		{1300 << 20, 3, 180 << 20, 210 << 20},
		{1300 << 20, 300, 700 << 20, 900 << 20},
		{8 << 30, 3, 2 << 30, 3 << 30},
	} {
		if got := memoryFor(tt.records, tt.steps); got < tt.least || got > tt.most {
			t.Errorf("%d bytes of records with %d steps: %d, want from %d to %d", tt.records, tt.steps, got, tt.least, tt.most)
		}
	}
}
