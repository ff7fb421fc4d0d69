package rank_test

import (
	"slices"
	"testing"

	"github.com/coreos/dbtester/pkg/stats/rank"
)

func TestDoubled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		values []float64
		tied   float64
		want   []int
	}{
		{nil, 0, []int{}},
		{[]float64{3, 1, 2}, 0, []int{6, 2, 4}},
		{[]float64{2, 1, 2, 2}, 0, []int{6, 2, 6, 6}},
		{[]float64{3, 1, 2, 2, .1 + .2, .3}, 1e-12, []int{12, 6, 9, 9, 3, 3}},
		{[]float64{1, 1.05, 1.1, 3}, .06, []int{4, 4, 4, 8}},
		{[]float64{1, 1.05, 1.1, 3}, 0, []int{2, 4, 6, 8}},
	} {
		if got := rank.Doubled(tt.values, tt.tied); !slices.Equal(got, tt.want) {
			t.Errorf("ranks of %v within %v are %v, want %v", tt.values, tt.tied, got, tt.want)
		}
	}
}
