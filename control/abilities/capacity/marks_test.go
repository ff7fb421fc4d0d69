package capacity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	declared "github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// TestCapacityMarks: searches that end without a capacity get a mark. The run is invalid if the
// database is not the reason. A capacity that was not held remains valid.
func TestCapacityMarks(t *testing.T) {
	t.Parallel()
	const late, full = "the client sent too late, or had too few clients, in three windows in a row", "the store was full"
	for _, tt := range []struct {
		c       declared.Result
		text    string
		invalid bool
	}{
		{declared.Result{Reason: "found", Held: 900, Holds: 2}, "", false},
		{declared.Result{Reason: "found", Holds: 6}, "none of 6 rates tried at or below the capacity was held for 1 min", false},
		{declared.Result{Reason: "found", Unheld: "client-limited", EndedAt: 900, Holds: 1}, "the capacity was not held for 1 min, because at 900 requests/s " + late, false},
		{declared.Result{Reason: "found", Unheld: "store full", EndedAt: 900.04}, "the capacity was not held for 1 min, because at 900 requests/s " + full, false},
		{declared.Result{Reason: "client-limited", EndedAt: 25_000}, "no capacity was found: at 25,000 requests/s " + late, true},
		{declared.Result{Reason: "store full", EndedAt: 25_000}, "no capacity was found: at 25,000 requests/s " + full, true},
		{declared.Result{Reason: "stalls", Stalled: 9, Counted: 20}, "no capacity was found: too many of 20 windows failed at every rate, 9 of them because the servers paused", false},
		{declared.Result{Reason: "stalls", Counted: 40}, "no capacity was found: too many of 40 windows failed at every rate, none of them because the servers paused", false},
		{declared.Result{Reason: "below the least rate", EndedAt: 12.5}, "no capacity was found: it lies below 12.5 requests/s", false},
		{declared.Result{Reason: "below the least rate", EndedAt: 10_000}, "no capacity was found: it lies below 10,000 requests/s", false},
		{declared.Result{Reason: "searching"}, "no capacity was found: the search did not finish", true},
	} {
		tt.c.Plan = declared.Plan{Hold: time.Minute}
		got := marksOf(&tt.c)
		for i, m := range got {
			if mark.Text(m.Code, m.Values, m.Words) != m.Text {
				t.Errorf("the text of %s is not made of its values", m.Code)
			}
			got[i].Values, got[i].Words = nil, nil
		}
		want := []results.Mark{{Code: mark.Capacity, Invalid: tt.invalid, Text: tt.text}}
		if tt.text == "" {
			want = nil
		}
		if !cmp.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", tt.c.Reason, got, want)
		}
	}
}
