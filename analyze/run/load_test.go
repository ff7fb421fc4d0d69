package run

import (
	"math"
	"testing"
)

func TestSumsKeepTheirWeights(t *testing.T) {
	var a Sums
	a.add(Sums{Count: 56, Sum: 56 * .81, Min: .1, Max: 2})
	a.add(Sums{Count: 1634, Sum: 1634 * 5.77, Min: .2, Max: 9})
	if mean := a.Sum / a.Count; math.Abs(mean-5.606) > .001 {
		t.Errorf("mean of two steps = %v, want 5.606", mean)
	}
	if a.Min != .1 || a.Max != 9 {
		t.Errorf("from %v to %v, want .1 to 9", a.Min, a.Max)
	}
}
