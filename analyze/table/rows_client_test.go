package table

import (
	"testing"

	"github.com/coreos/dbtester/analyze/run"
)

func TestSpreadCell(t *testing.T) {
	for _, tc := range []struct {
		q    float64
		n    int64
		want string
		mark bool
	}{
		{.50, 19, "28.901 ms, n 19 *", true}, {.50, 20, "28.901 ms, n 20", false},
		{.99, 999, "28.901 ms, n 999 *", true}, {.99, 1000, "28.901 ms, n 1,000", false},
		{1, 2, "28.901 ms, n 2", false},
	} {
		got := spreadCell(tc.q, 28_901_000, tc.n)
		if got.Shown() != tc.want || (len(got.Marks) == 1 && got.Marks[0] == run.FewMark) != tc.mark {
			t.Errorf("q %g of %d: %q, marks %q", tc.q, tc.n, got.Text, got.Marks)
		}
	}
}
