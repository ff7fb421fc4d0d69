package judge

import (
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// TestStops marks a client that stopped once for long, or often enough.
func TestStops(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	stop := func(n int64, total, longest time.Duration) *results.Stops {
		return &results.Stops{N: n, TotalNS: int64(total), Longest: results.Stretch{From: start.Add(time.Second), Length: longest}}
	}
	for name, c := range map[string]struct {
		stops *results.Stops
		want  string
	}{
		"not recorded":     {nil, ""},
		"none":             {&results.Stops{}, ""},
		"short and few":    {stop(5, 99*time.Millisecond, 30*time.Millisecond), ""},
		"short and many":   {stop(50, time.Second, 30*time.Millisecond), "this client was stopped or starved 50 times for 1 s of 10 s in all, at most for 30 ms, from 12:00:01.000 UTC on"},
		"one that is long": {stop(1, 100*time.Millisecond, 100*time.Millisecond), "this client was stopped or starved 1 time for 100 ms of 10 s in all, at most for 100 ms, from 12:00:01.000 UTC on"},
	} {
		run := &results.DatabaseRun{Totals: &results.Totals{}, Moments: results.Moments{LoadStart: start, LoadEnd: start.Add(10 * time.Second)}}
		got := ""
		for _, m := range plainMarks(Evidence{Run: run, Clients: []Client{{Stops: c.stops}}}) {
			if m.Code == mark.Stopped {
				got = m.Text
			}
			if m.Invalid {
				t.Errorf("%s: want no invalid mark, because only the client's share of the times decides, got %q", name, m.Text)
			}
		}
		if got != c.want {
			t.Errorf("%s: want mark %q, got %q", name, c.want, got)
		}
	}
}
