package choose

import (
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// trial is a run that searched for the capacity within 20 ms.
func trial(reason string, low, high float64) *run.Run {
	c := &capacity.Result{
		Plan: capacity.Plan{Latency: 20 * time.Millisecond, Share: 80, At: 99, Errors: 0.1}, Reason: reason, Rate: (low + high) / 2, Low: low, High: high, Counted: 20, Stalled: 9, EndedAt: 13,
	}
	return &run.Run{Capacity: &run.Capacity{Result: c}}
}

// holding asks for a hold, which passed at a rate; 0 for a hold that failed.
func holding(r *run.Run, rate float64) *run.Run {
	r.Capacity.Hold, r.Capacity.Holds, r.Capacity.Held = time.Minute, 6, rate
	return r
}

// limited gives a search another limit.
func limited(r *run.Run, latency time.Duration) *run.Run {
	r.Capacity.Latency = latency
	return r
}

// A need of 1,000/s is met by a capacity only if every trial found one that is above it, with the
// limits in the need, and held it where that was asked for.
func TestCapacity(t *testing.T) {
	need := workload.Need{Rate: 1000, Latency: 20 * time.Millisecond, At: "p99", Errors: 0.1}
	for _, tt := range []struct {
		name      string
		trials    []*run.Run
		want      Outcome
		low, high float64
		why       string
	}{
		{"one", []*run.Run{trial("found", 1100, 1300)}, Met, 1100, 1300, "it sustained 1,100/s"},
		{"trials", []*run.Run{trial("found", 1100, 1300), trial("out of windows", 1200, 1400)}, Met, 1100, 1400, "it sustained 1,100/s"},
		{"a trial stalls", []*run.Run{trial("found", 1200, 1300), trial("found", 1250, 1350), trial("stalls", 0, 0)}, Unknown, 0, 0, "not every trial found a capacity: stalls in 9 of 20 windows"},
		{"the first trial stalls", []*run.Run{trial("stalls", 0, 0), trial("found", 1250, 1350)}, Unknown, 0, 0, "not every trial found a capacity: stalls in 9 of 20 windows"},
		{"below a bound", []*run.Run{trial("below the least rate", 0, 0)}, Unknown, 0, 0, "its search found no capacity: below 13/s"},
		{"interrupted", []*run.Run{trial("searching", 900, 1000)}, Unknown, 0, 0, "its search found no capacity: the search did not finish"},
		{"another limit", []*run.Run{limited(trial("found", 1100, 1300), 10*time.Millisecond)}, Unknown, 0, 0, "the limits of its search differ from the need: p99 <= 10 ms and at most 0.1% errors"},
		{"held", []*run.Run{holding(trial("found", 1100, 1300), 1200)}, Met, 1100, 1300, "it sustained 1,100/s"},
		{"held at less", []*run.Run{holding(trial("found", 1100, 1300), 1050)}, Met, 1050, 1300, "it sustained 1,050/s"},
		{"held below the need", []*run.Run{holding(trial("found", 1100, 1300), 950)}, Unknown, 950, 1300, "the need lies between the bounds of its capacity, 950/s and 1,300/s"},
		{"not held", []*run.Run{holding(trial("found", 1100, 1300), 0)}, Unknown, 0, 1300, "its capacity is about 1,200/s, but neither that rate nor any lower rate that was tried was held"},
		{"a trial was not held", []*run.Run{holding(trial("found", 1100, 1300), 1200), holding(trial("found", 1150, 1250), 0)}, Unknown, 0, 1300, "neither that rate nor any lower rate"},
		{"not held, and below", []*run.Run{holding(trial("found", 800, 900), 0)}, NotMet, 0, 900, "it did not sustain 900/s"},
	} {
		d := Database{Name: "etcd", Trials: len(tt.trials)}
		for _, r := range tt.trials {
			d.add(r, need)
		}
		a := answer(need, d)
		is := func(got *float64, want float64) bool { return got == nil && want == 0 || got != nil && *got == want }
		if a.Outcome != tt.want || !is(a.Low, tt.low) || !is(a.High, tt.high) || !strings.Contains(a.Why, tt.why) {
			t.Errorf("%s: %s, %s: %s\nwant %s, %v to %v: %s", tt.name, a.Outcome, a.Headroom, a.Why, tt.want, tt.low, tt.high, tt.why)
		}
	}
}

// A mark on one step belongs to that step, one about a stopped client to the steps in which it was
// stopped, and one about its processors to all steps.
func TestClientLimit(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	record := &results.DatabaseRun{Tag: "etcd"}
	var stages []*run.Stage
	for i := range 3 {
		from := start.Add(time.Duration(10*i) * time.Second)
		record.Steps = append(record.Steps, results.Step{Index: i, Start: from, End: from.Add(10 * time.Second), IssueEnd: from.Add(10 * time.Second)})
		stages = append(stages, &run.Stage{Steps: []int{i}})
	}
	r := &run.Run{Info: run.Info{Tag: "etcd", Record: record}, Stages: stages}
	stopped := &results.Stops{N: 1, Stretches: []results.Stretch{{From: start.Add(14 * time.Second), Length: 3 * time.Second}}}
	for _, tt := range []struct {
		name  string
		mark  results.Mark
		tag   string
		stops *results.Stops
		want  [3]bool
	}{
		{"late", results.Mark{Code: mark.Late, Text: "step 2, 5 clients: 3 % were late"}, "etcd", nil, [3]bool{1: true}},
		{"saturated in a step", results.Mark{Code: mark.Saturated, Text: "step 3, 1 client: 30 % of the response times"}, "etcd", nil, [3]bool{2: true}},
		{"a generator in a step, by values", results.NewMark(mark.Late, false, mark.Values{
			"step": 2, "clients": 5, "share_percent": 3, "late_seconds": .001, "late": 3, "due": 100,
		}, mark.Words{"generator": "10.0.0.9"}), "etcd", nil, [3]bool{1: true}},
		{"saturated", results.Mark{Code: mark.Saturated, Text: "this client used over 85 % of its 2 processors in 9 of 30 seconds"}, "etcd", nil, [3]bool{true, true, true}},
		{"stopped", results.Mark{Code: mark.Stopped, Text: "this client was stopped or starved 1 time for 3s of 30s in all"}, "etcd", stopped, [3]bool{1: true}},
		{"stopped for short times", results.Mark{Code: mark.Stopped, Text: "this client was stopped or starved 90 times for 3s of 30s in all"}, "etcd", &results.Stops{N: 90}, [3]bool{true, true, true}},
		{"another run", results.Mark{Code: mark.Saturated, Text: "this client used over 85 % of its 2 processors"}, "consul", nil, [3]bool{}},
		{"another mark", results.Mark{Code: mark.Rate, Text: "step 1, 5 clients: 50 % of the offered requests"}, "etcd", nil, [3]bool{}},
	} {
		record.Stops = tt.stops
		for i, g := range stages {
			want := ""
			if tt.want[i] {
				want = tt.mark.Code
			}
			if got := clientLimit(r, g, []run.Mark{{Tag: tt.tag, Mark: tt.mark}}); got != want {
				t.Errorf("%s: step %d has the limit %q, want %q", tt.name, i+1, got, want)
			}
		}
	}
}
