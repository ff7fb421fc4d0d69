package run

import "testing"

func TestBinSeconds(t *testing.T) {
	for length, want := range map[int64]int64{1: 1, 120: 1, 121: 2, 3600: 30, 86_400: 900, 1_000_000: 10_800} {
		if got := binSeconds(length); got != want {
			t.Errorf("%d s in bins of %d s, want %d", length, got, want)
		}
	}
}
