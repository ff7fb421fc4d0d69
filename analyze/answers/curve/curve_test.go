package curve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// runOf returns a run with stages that have a throughput and a tenth of it as p99.
func runOf(m *results.Manifest, tag string, swept *workload.Swept, stages ...*run.Stage) *run.Run {
	r := &run.Run{Info: run.Info{Tag: tag, Manifest: m, Record: &results.DatabaseRun{Tag: strings.TrimSuffix(tag, " #2"), Database: "etcd", Swept: swept}}, Stages: stages}
	r.Machines.Apparent = run.Measured(5e6, 3)
	return r
}

func stage(rate float64, clients int, down bool, throughput float64) *run.Stage {
	g := &run.Stage{Rate: [2]float64{rate}, Clients: clients, Down: down}
	g.Throughput.Average = run.Measured(throughput, 1)
	g.Latency.Due = &run.Distribution{Quantile: func(q float64) run.Measure { return run.Measured(throughput*q/10, 5000) }}
	g.Availability.Success = run.Measured(100, 1)
	return g
}

// lines are the values with throughput and size.
func lines(s Sweep) (all []string) {
	for _, c := range s.Curves {
		for _, p := range c.Points {
			all = append(all, fmt.Sprintf("%s %v %s: %s, %s", c.Name, p.Value, p.Name(), strings.Join(p.Cells[Throughput].Lines(), " "), p.Cells[len(p.Cells)-1].Text))
		}
	}
	return all
}

func TestOf(t *testing.T) {
	trial := func(n int) *results.Manifest {
		return &results.Manifest{Title: "t", Trial: n, Trials: 2, Config: json.RawMessage(`{}`)}
	}
	rate := &workload.Swept{Key: workload.SweepRate, Of: "etcd"}
	first, second := trial(1), trial(2)
	steps := func(m *results.Manifest, tag string, by float64) *run.Run {
		return runOf(m, tag, rate, stage(100, 5, false, 100*by), stage(200, 5, false, 150*by), stage(100, 5, true, 90*by))
	}
	members := func(m *results.Manifest, n int64, throughput float64) *run.Run {
		s := &workload.Swept{Key: workload.SweepMembers, Of: "zookeeper", Value: n, Text: fmt.Sprint(n)}
		return runOf(m, fmt.Sprintf("zookeeper-members-%d", n), s, stage(0, 9, false, throughput))
	}
	preload := func(value int64, text string) *run.Run {
		return runOf(first, "etcd-preload-"+text, &workload.Swept{Key: workload.SweepPreload, Of: "etcd", Value: value, Text: text}, stage(0, 9, false, 7))
	}
	runs := []*run.Run{
		steps(first, "etcd", 1), steps(second, "etcd #2", 2), members(first, 3, 30), members(first, 1, 50), preload(0, "0"), preload(1<<30, "1GiB"),
		runOf(first, "other", nil, stage(0, 1, false, 1)),
	}
	all := Of(runs)
	if len(all) != 3 {
		t.Fatalf("%d sweeps, want rate, preload and members", len(all))
	}
	for i, want := range [][]string{
		{"etcd 100 100/s: 150 /s 100 .. 200 /s, n 2, -", "etcd 200 200/s: 225 /s 150 .. 300 /s, n 2, -", "etcd 100 100/s, down: 135 /s 90.0 .. 180 /s, n 2, -"},
		{"etcd 0 0: 7.00 /s, 5.0 MB", "etcd 1.073741824e+09 1GiB: 7.00 /s, 5.0 MB"},
		{"zookeeper 1 1 member: 50.0 /s, 5.0 MB", "zookeeper 3 3 members: 30.0 /s, 5.0 MB"},
	} {
		if diff := cmp.Diff(want, lines(all[i])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", all[i].Key, diff)
		}
		text, markdown := all[i].Text(), all[i].Markdown()
		for _, p := range all[i].Curves[0].Points {
			if !strings.Contains(text, p.Name()) || !strings.Contains(markdown, "| "+p.Name()+" |") {
				t.Errorf("the point %s is missing in\n%s\n%s", p.Name(), text, markdown)
			}
		}
	}
	if units := []string{all[0].Unit, all[1].Unit, all[2].Unit}; !cmp.Equal(units, []string{"requests/s", "bytes", "members"}) {
		t.Errorf("units are %q", units)
	}
	if got := Of(runs[6:]); got != nil {
		t.Errorf("runs without a sweep have the curves %v", got)
	}
}
