package capacity

import (
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	declared "github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestDescribe: a first rate below the least one is not sent.
func TestDescribe(t *testing.T) {
	t.Parallel()
	db := &config.Database{Load: workload.Load{Extent: workload.Extent{Clients: 500, Connections: 1}, Pace: workload.Pace{Rate: 250}}}
	for at, want := range map[workload.Percent]string{99: "starting at 250 requests/s", 99.99: "starting at 10000 requests/s"} {
		h := &Half{run: &abilities.Run{DB: db}, plan: &declared.Plan{Latency: 20 * time.Millisecond, At: at, Window: time.Second}}
		text := strings.Join(h.Describe(), "\n")
		if at == 99 && !strings.Contains(text, "windows of 1s (below 500 requests/s longer, 4s at most) after") {
			t.Errorf("the length of windows is not in\n%s", text)
		}
		if !strings.Contains(text, want) {
			t.Errorf("p%v: no %q in\n%s", at, want, text)
		}
	}
}

// The reason for no capacity comes from the mark, or else from the search.
func TestUnfound(t *testing.T) {
	t.Parallel()
	found, below := &declared.Result{Reason: "found", Rate: 100}, &declared.Result{Reason: "below the least rate", EndedAt: 12}
	marks := []results.Mark{{Code: mark.OtherLoad, Text: "x"}, results.NewMark(mark.Capacity, false, mark.Values{"below_per_second": 12}, nil)}
	for _, tt := range []struct {
		result *declared.Result
		marks  []results.Mark
		want   string
	}{
		{nil, nil, ""},
		{found, marks[:1], ""},
		{below, marks, "it lies below 12 requests/s"},
		{below, nil, "below the least rate (12/s)"},
	} {
		h := &Half{run: &abilities.Run{Record: &results.DatabaseRun{Validity: tt.marks}}, result: tt.result}
		if what, got := h.Unfound(); got != tt.want || what == "capacity" != (tt.want != "") || h.Found() != (tt.result == found) {
			t.Errorf("%+v: %q, want %q; found %v", tt.result, got, tt.want, h.Found())
		}
	}
}
