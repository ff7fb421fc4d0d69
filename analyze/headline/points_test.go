package headline

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// swept are the runs of a sweep over members: a throughput of each database at each
// point.
func swept(values map[string][]float64, order ...string) (runs []*run.Run) {
	m := &results.Manifest{Title: "t", Trial: 1, Trials: 1, Config: json.RawMessage(`{}`)}
	for i := range values[order[0]] {
		n := int64(2*i + 1)
		for _, name := range order {
			tag := fmt.Sprintf("%s-members-%d", name, n)
			r := &run.Run{Info: run.Info{Tag: tag, Manifest: m, Record: &results.DatabaseRun{
				Tag: tag, Database: name, Load: results.Load{Load: workload.Load{Operation: "write"}},
				Swept:   &workload.Swept{Key: workload.SweepMembers, Of: name, Value: n, Text: fmt.Sprint(n)},
				Members: make([]results.Member, n),
			}}}
			g := &run.Stage{Throughput: run.Throughput{Average: run.Measured(values[name][i], 1)}}
			g.Latency.Due = &run.Distribution{Quantile: func(float64) run.Measure { return run.Measured(5, 1000) }}
			g.Availability.Success = run.Measured(100, 1000)
			r.Stages = []*run.Stage{g}
			runs = append(runs, r)
		}
	}
	return runs
}

// Databases are compared at equal points of a sweep, and what the sweep varied is no
// difference between them.
func TestEqualPoints(t *testing.T) {
	h := Of(swept(map[string][]float64{"etcd": {3000, 1000}, "zookeeper": {1000, 2000}}, "etcd", "zookeeper"), nil)
	want := "With 1 member: etcd answered 3.0 times as many writes a second as zookeeper. " +
		"With 3 members: zookeeper answered 2.0 times as many writes a second as etcd. Each ran once, so nothing shows how far a repetition would differ."
	if h.Verdict != want {
		t.Errorf("got  %s\nwant %s", h.Verdict, want)
	}
	var ratios []string
	for _, c := range h.Rows[0].Cells {
		ratios = append(ratios, c.RatioText)
	}
	if got := strings.Join(ratios, ", "); got != "best, 0.33 x, 0.50 x, best" {
		t.Errorf("ratios are %s, want each of its own point", got)
	}
	if text := strings.Join(h.Unequal, "\n"); strings.Contains(text, "members:") {
		t.Errorf("the swept members are a difference:\n%s", text)
	}
}

// The points of a single database are compared with one another.
func TestPointsOfOneDatabase(t *testing.T) {
	h := Of(swept(map[string][]float64{"etcd": {3000, 1000}}, "etcd"), nil)
	if want := "etcd-members-1 answered 3.0 times as many writes a second as etcd-members-3. Each ran once"; !strings.HasPrefix(h.Verdict, want) {
		t.Errorf("got %s", h.Verdict)
	}
	if r := h.Rows[0].Cells[1].RatioText; r != "0.33 x" {
		t.Errorf("the ratio of the second point is %q", r)
	}
}
