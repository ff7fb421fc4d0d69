package run

import (
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/recovery"
	"github.com/coreos/dbtester/pkg/workload"
)

// climbing is a run with one 60 s step. Its first 20 s answered half as many requests, in twice the
// time.
func climbing(rate float64) *Run {
	start := time.Unix(1000, 0)
	record := &results.DatabaseRun{
		Load: results.Load{Load: workload.Load{Extent: workload.Extent{Clients: 10}, Pace: workload.Pace{Rate: rate}}}, Moments: results.Moments{LoadStart: start, LoadEnd: start.Add(60 * time.Second)},
		Steps: []results.Step{{Step: workload.Step{Clients: 10, Rate: rate}, Start: start, End: start.Add(60 * time.Second)}},
	}
	r := &Run{Info: Info{Tag: "zookeeper", Record: record}}
	r.Windows = recordedWindows(record, Span{}, &r.Gaps)
	for i := range int64(60) {
		s := Second{Unix: 1000 + i, Clients: 10, OK: 2000, Latency: Sums{Count: 2000, Sum: 2000}}
		if i < 20 {
			s.OK, s.Latency = 1000, Sums{Count: 1000, Sum: 4000}
		}
		r.Load.Seconds = append(r.Load.Seconds, s)
	}
	r.Stages = stagesOf(record.Steps)
	r.Stages[0].Throughput.Average = Measured(1667, 1)
	r.Stages[0].Latency = unknownLatency(clockOf(record, 0), Missing("not recorded"))
	return r
}

func TestUnsteadyLoadsAreMarked(t *testing.T) {
	for _, tt := range []struct {
		rate float64
		want string
	}{
		{0, "the throughput stepped from 1,000/s to 2,000/s at second 20 (Pettitt's test, p < 0.001); steady from second 20 to 60 with 2,000/s"},
		{5000, "the mean response time stepped from 4 ms to 1 ms at second 20 (Pettitt's test, p < 0.001); steady from second 20 to 60 with 1 ms"},
	} {
		r := climbing(tt.rate)
		r.setSteadiness()
		if len(r.Unsteady) != 1 || r.Unsteady[0].Text != tt.want || r.Unsteady[0].Code != mark.Unsteady || r.Unsteady[0].Invalid {
			t.Errorf("marks %+v, want %q", r.Unsteady, tt.want)
		}
		if !r.Stages[0].Throughput.Average.Marked(UnsteadyMark) {
			t.Errorf("the throughput has the marks %q", r.Stages[0].Throughput.Average.Marks)
		}
	}
	steady := climbing(0)
	for i := range steady.Load.Seconds {
		steady.Load.Seconds[i].OK = 1000
	}
	if steady.setSteadiness(); len(steady.Unsteady) > 0 {
		t.Errorf("a steady load has the marks %v", steady.Unsteady)
	}
	// A warm-up outside the measured part is no change.
	warmed := climbing(0)
	warmed.Info.Record.Load.WarmUp = 20 * time.Second
	if warmed.setSteadiness(); len(warmed.Unsteady) > 0 {
		t.Errorf("after its warm-up the load is steady, got %v", warmed.Unsteady)
	}
	// Neither are the seconds between a fault and its recovery, which begin and end within seconds.
	disturbed := climbing(0)
	asked := disturbed.Info.Record.LoadStart.Add(1500 * time.Millisecond)
	happened := []faults.Happened{{From: asked, To: asked.Add(5 * time.Second), Recovery: &recovery.Recovery{Until: asked.Add(18 * time.Second), Recovered: true}}}
	if err := faults.Record().Set(&disturbed.Info.Record.Records, happened); err != nil {
		t.Fatal(err)
	}
	if disturbed.setSteadiness(); len(disturbed.Unsteady) > 0 {
		t.Errorf("outside the time of a fault the load is steady, got %v", disturbed.Unsteady)
	}
	// A change outside it is found, and its second counts within the load.
	disturbed = climbing(0)
	happened[0].From, happened[0].Recovery = asked.Add(-time.Second), nil
	if err := faults.Record().Set(&disturbed.Info.Record.Records, happened); err != nil {
		t.Fatal(err)
	}
	if disturbed.setSteadiness(); len(disturbed.Unsteady) != 1 || !strings.Contains(disturbed.Unsteady[0].Text, "at second 20 ") || !strings.Contains(disturbed.Unsteady[0].Text, "steady from second 20 to 60") {
		t.Errorf("a step after a fault has the marks %v", disturbed.Unsteady)
	}
	stalled := climbing(0)
	for i := range stalled.Load.Seconds {
		stalled.Load.Seconds[i].OK = 1000 + 50*float64(i)
	}
	if stalled.setSteadiness(); len(stalled.Unsteady) != 1 || !strings.Contains(stalled.Unsteady[0].Text, "drifted from 1,000/s to 4,000/s") {
		t.Errorf("a climb has the marks %v", stalled.Unsteady)
	}
}
