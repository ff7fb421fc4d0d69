package run

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestWindows: warm-up and cool-down are cut from each step, a step that did not begin has no
// window, and one without an end lasts until that of the load.
func TestWindows(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	record := &results.DatabaseRun{
		Load: results.Load{Load: workload.Load{Limits: workload.Limits{WarmUp: time.Second, CoolDown: time.Second}}}, Moments: results.Moments{LoadStart: at(100), LoadEnd: at(130)},
		Steps: []results.Step{
			{Index: 0, Step: workload.Step{Clients: 1, Duration: 10 * time.Second}, Start: at(100), End: at(110), InsideNS: 72e8, WaitingNS: 2e9},
			{Index: 1, Step: workload.Step{Clients: 2, Down: true}, Start: at(110), InsideNS: -1},
			{Index: 2, Step: workload.Step{Clients: 3}},
		},
	}
	var gaps Gaps
	w := recordedWindows(record, Span{}, &gaps)
	if len(w.Measured) != 2 || len(gaps.List) != 0 {
		t.Fatalf("windows %+v, gaps %q", w, gaps.List)
	}
	if diff := cmp.Diff([]Span{{101e9, 109e9}, {111e9, 130e9}}, []Span{w.Measured[0].Span, w.Measured[1].Span}); diff != "" {
		t.Errorf("measured parts (-want +got):\n%s", diff)
	}
	if got := w.Measured[0].InsidePercent(); got.Value != 90 {
		t.Errorf("inside calls %+v, want 90 %% of the 8 s with a server", got)
	}
	if got := w.InsidePercent(); got.Known() {
		t.Errorf("inside calls %+v: that of the second step is not known", got)
	}
	if w.WayBack(109) || !w.WayBack(110) || !w.WayBack(130) {
		t.Error("the way back begins with second 110")
	}
	for second, want := range map[int64]bool{100: false, 101: true, 108: true, 109: false, 110: false, 111: true, 130: false} {
		if got := w.Whole(second); got != want {
			t.Errorf("second %d is whole: %v, want %v", second, got, want)
		}
	}
}

// TestWindowsOfSeconds: the first, the last and a shared classic second are partial.
func TestWindowsOfSeconds(t *testing.T) {
	var seconds []Second
	for _, s := range []Second{{Unix: 10, Clients: 1}, {Unix: 11, Clients: 1}, {Unix: 12, Clients: 1}, {Unix: 13, Clients: 1}, {Unix: 13, Clients: 5}, {Unix: 14, Clients: 5}, {Unix: 15, Clients: 5}} {
		s.OK = float64(10 * s.Unix)
		seconds = append(seconds, s)
	}
	w := windowsOfSeconds(seconds)
	var spans []Span
	for _, one := range w.Measured {
		spans = append(spans, one.Span)
	}
	if diff := cmp.Diff([]Span{{11e9, 13e9}, {14e9, 15e9}}, spans); diff != "" {
		t.Errorf("measured parts (-want +got):\n%s", diff)
	}
	most, least := extremes(seconds, &w, "")
	if most.Value != 140 || least.Value != 110 || most.N != 3 {
		t.Errorf("most %+v, least %+v, want 140 and 110 of 3 seconds", most, least)
	}
	if most, _ := extremes(nil, &w, "the file is missing"); most.Missing != "the file is missing" {
		t.Errorf("most %+v, want the reason", most)
	}
}
