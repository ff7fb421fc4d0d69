package run

import (
	"testing"

	"github.com/coreos/dbtester/pkg/ability/capacity"
)

// TestRatesOfCapacityAreRounded: a rate at which a search ended is not cut.
func TestRatesOfCapacityAreRounded(t *testing.T) {
	for rate, want := range map[float64]string{12.5: "below 12.50/s", 11_999.9: "below 12,000/s", 250: "below 250/s"} {
		r := &Run{Capacity: &Capacity{Result: &capacity.Result{Reason: "below the least rate", EndedAt: rate}}}
		if got := r.CapacityRate().Words; got != want {
			t.Errorf("%v: %q, want %q", rate, got, want)
		}
	}
}
