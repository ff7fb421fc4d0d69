package consistency

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSorter: touches are sorted by number and role, however far their numbers lie apart.
func TestSorter(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	var s sorter
	for _, span := range []int64{1, 100, 1 << 14, 1 << 20, 1 << 27, 1 << 28, 1 << 41, 1 << 42, 1 << 62} {
		for _, n := range []int{0, 1, 2, fewTouches, fewTouches + 1, manyTouches - 1, manyTouches, 500, 5000} {
			var touches []touch
			for op := range n {
				touches = append(touches, touch{number: r.Int64N(span) - span/2, op: int32(op), role: role(r.IntN(6))})
			}
			if n > manyTouches && span > 1<<40 {
				touches[0].number, touches[1].number = Absent, never
			}
			want := slices.Clone(touches)
			s.sort(touches)
			if !slices.IsSortedFunc(touches, func(a, b touch) int {
				if a.number != b.number && a.number < b.number || a.number == b.number && a.role < b.role {
					return -1
				} else if a.number == b.number && a.role == b.role {
					return 0
				}
				return 1
			}) {
				t.Errorf("%d touches of numbers %d apart are not sorted", n, span)
			}
			byOp := func(a, b touch) int { return int(a.op - b.op) }
			slices.SortFunc(touches, byOp)
			if !slices.Equal(touches, want) {
				t.Errorf("%d touches of numbers %d apart are not the same after they were sorted", n, span)
			}
		}
	}
}
