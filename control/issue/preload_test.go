package issue

import (
	"slices"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/load"
)

// TestTogether: seconds are merged from parts that write keys, and a silent part does not delay the
// others.
func TestTogether(t *testing.T) {
	var got []load.Progress
	sum := &together{of: make([]load.Progress, 2), heard: make([]bool, 2), progress: func(p load.Progress) { got = append(got, p) }}
	sum.see(0, load.Progress{Done: 10, Ended: 10, Faulty: 1, InFlight: 2, P99: time.Second})
	sum.see(1, load.Progress{Done: 5, Ended: 5, InFlight: 1, P99: 2 * time.Second})
	sum.see(0, load.Progress{Done: 20, Ended: 10, InFlight: 2})
	sum.see(0, load.Progress{Done: 30, Ended: 10, InFlight: 3})
	want := []load.Progress{
		{Done: 15, Ended: 15, Faulty: 1, InFlight: 3, P99: 2 * time.Second},
		{Done: 25, Ended: 10, InFlight: 2},
	}
	if !slices.EqualFunc(got, want, func(a, b load.Progress) bool {
		return a.Done == b.Done && a.Ended == b.Ended && a.Faulty == b.Faulty && a.InFlight == b.InFlight && a.P99 == b.P99
	}) {
		t.Errorf("passed on %+v, want %+v", got, want)
	}
}
