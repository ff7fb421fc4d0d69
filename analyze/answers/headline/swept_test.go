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

// swept are the runs in a sweep over members: the throughput of each database at each point.
func swept(values map[string][]float64, order ...string) (runs []*run.Run) {
	m := &results.Manifest{Title: "t", Trial: 1, Trials: 1, Config: json.RawMessage(`{}`)}
	for i := range values[order[0]] {
		n := int64(2*i + 1)
		for _, name := range order {
			tag := fmt.Sprintf("%s-members-%d", name, n)
			r := &run.Run{Info: run.Info{Tag: tag, Manifest: m, Record: &results.DatabaseRun{
				Tag: tag, Database: name, Load: results.Load{Load: workload.Load{Content: workload.Content{Operation: "write"}}},
				Swept:   &workload.Swept{Key: workload.SweepMembers, Of: name, Value: n, Text: fmt.Sprint(n)},
				Members: make([]results.Member, n),
			}}}
			g := &run.Stage{Throughput: run.Throughput{Average: run.Measured(values[name][i], 1)}}
			g.Latency.Due = &run.Distribution{Max: run.Measured(9, 1000), Quantile: func(float64) run.Measure { return run.Measured(5, 1000) }}
			g.Availability.Success = run.Measured(100, 1000)
			r.Stages = []*run.Stage{g}
			runs = append(runs, r)
		}
	}
	return runs
}

// The sentence states how the swept setting affects each database, and the setting is no difference
// between them.
func TestSwept(t *testing.T) {
	h := Of(swept(map[string][]float64{"etcd": {3000, 1000}, "zookeeper": {1000, 2000}}, "etcd", "zookeeper"), nil)
	want := "With 3 members etcd answered 67 % less (1,000/s) and zookeeper 2.0 times as many (2,000/s), each compared with 1 member."
	if h.Answer.Sentence != want {
		t.Errorf("got  %s\nwant %s", h.Answer.Sentence, want)
	}
	if text := strings.Join(h.Unequal, "\n"); strings.Contains(text, "members:") {
		t.Errorf("the swept members are a difference:\n%s", text)
	}
}
