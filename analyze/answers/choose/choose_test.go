package choose

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/workload"
)

// at is a step at a rate with a p99 in ms.
func at(rate, p99 float64) Step {
	return Step{Rate: rate, Latency: run.Measured(p99, 10_000), Success: run.Measured(100, 10_000), CPU: run.Measured(rate/1000, 1), Memory: run.Measured(5e7, 1), Disk: run.Measured(rate*1000, 1)}
}

func down(s Step) Step { s.Down = true; return s }

func void(s Step, why string) Step { s.Void = why; return s }

func failing(s Step, percent float64) Step {
	s.Success = run.Measured(100-percent, 10_000)
	return s
}

// Every way in which steps, a capacity or their lack answer a need of 1,000/s within
// 20 ms.
func TestAnswer(t *testing.T) {
	need := workload.Need{Rate: 1000, Latency: 20 * time.Millisecond, At: "p99", Errors: 0.1}
	stalled := at(1000, 0)
	stalled.Latency = run.Missing("the rank is that of a request that failed")
	least := at(1000, 3)
	least.Latency.High = math.Inf(1)
	for _, tt := range []struct {
		name     string
		d        Database
		want     Outcome
		headroom string
		why      string
		at       string
	}{
		{"a step at the need", Database{Steps: []Step{at(1000, 5)}}, Met, "at least 1.00 x", "it sustained 1,000/s", "1,000/s"},
		{"a step above", Database{Steps: []Step{at(2000, 5)}}, Met, "at least 2.0 x", "it sustained 2,000/s", "2,000/s"},
		{"a whole curve", Database{Steps: []Step{at(500, 5), at(1500, 6), at(2000, 40), at(1500, 6), at(500, 5)}}, Met, "1.5 .. 2.0 x", "it sustained 1,500/s", "1,500/s"},
		{"exactly the limit", Database{Steps: []Step{failing(at(1000, 20), 0.1)}}, Met, "at least 1.00 x", "it sustained 1,000/s", "1,000/s"},
		{"too slow", Database{Steps: []Step{at(500, 5), at(1000, 21)}}, NotMet, "0.50 .. 1.00 x", "at 1,000/s p99 was 21.0 ms", ""},
		{"too slow already below", Database{Steps: []Step{at(500, 25), at(1000, 90)}}, NotMet, "below 0.50 x", "at 500/s p99 was 25.0 ms", ""},
		{"too many errors", Database{Steps: []Step{failing(at(1000, 2), 0.2)}}, NotMet, "below 1.00 x", "at 1,000/s 0.200 % of the requests were not answered ok", ""},
		{"not answered", Database{Steps: []Step{stalled}}, NotMet, "below 1.00 x", "p99 is not known: the rank is that of a request that failed", ""},
		{"only a lower bound", Database{Steps: []Step{least}}, NotMet, "below 1.00 x", "at 1,000/s p99 was at least 3.00 ms", ""},
		{"between two steps", Database{Steps: []Step{at(500, 5), at(2000, 50)}}, Unknown, "0.50 .. 2.0 x", "it sustained 500/s but not 2,000/s; no step ran between them", ""},
		{"all below", Database{Steps: []Step{at(500, 5), at(800, 6)}}, Unknown, "at least 0.80 x", "no step ran at 1,000/s or above; it sustained 800/s", ""},
		{"all above fail", Database{Steps: []Step{at(1500, 50)}}, Unknown, "below 1.5 x", "at 1,500/s p99 was 50.0 ms, and no step ran at 1,000/s or below", ""},
		{"trials disagree", Database{Steps: []Step{at(500, 5), at(1000, 15), at(500, 5), at(1000, 30)}}, Unknown, "at least 0.50 x", "at 1,000/s 1 of 2 steps passed; in the others p99 was 30.0 ms", ""},
		{"the way back fails", Database{Steps: []Step{at(500, 5), at(1000, 15), at(2000, 90), down(at(1000, 30)), down(at(500, 5))}}, Unknown, "0.50 .. 2.0 x",
			"at 1,000/s 1 of 2 steps passed; in the others p99 was 30.0 ms on the way back", ""},
		{"the client was the limit", Database{Steps: []Step{at(500, 5), void(at(1000, 50), "client late")}}, Unknown, "at least 0.50 x", "it sustained 500/s, and at 1,000/s the client was the limit", ""},
		{"the client was the limit between", Database{Steps: []Step{at(500, 5), void(at(1000, 50), "client stopped"), at(2000, 90)}}, Unknown, "0.50 .. 2.0 x", "at 2,000/s p99 was 90.0 ms, and at 1,000/s the client was the limit", ""},
		{"the client was the limit of every step", Database{Steps: []Step{void(at(1000, 50), "client late")}}, Unknown, "-", "the client was the limit: client late", ""},
		{"a late client and a step that passes", Database{Steps: []Step{void(at(1000, 5), "client late")}}, Met, "at least 1.00 x", "it sustained 1,000/s", "1,000/s"},
		{"a closed loop", Database{Closed: 9000}, Unknown, "-", "its clients sent as fast as they were answered (9,000/s), which does not show the latency at a given rate: give a rate or a sweep", ""},
		{"nothing", Database{}, Unknown, "-", "no step had a rate", ""},
		{"a capacity above", Database{Capacity: &Bounds{Rate: 1300, Low: 1200, High: 1400}}, Met, "1.2 .. 1.4 x", "it sustained 1,200/s", ""},
		{"a capacity below", Database{Capacity: &Bounds{Rate: 800, Low: 700, High: 900}}, NotMet, "0.70 .. 0.90 x", "it did not sustain 900/s", ""},
		{"a capacity around", Database{Capacity: &Bounds{Rate: 1000, Low: 900, High: 1100}}, Unknown, "0.90 .. 1.1 x", "the need lies between the bounds of its capacity, 900/s and 1,100/s", ""},
		{"a capacity that was not held", Database{Capacity: &Bounds{Rate: 1200, High: 1300, Unheld: true}}, Unknown, "below 1.3 x", "its capacity is about 1,200/s, but neither that rate nor any lower rate that was tried was held", ""},
		{"a search without a capacity", Database{Capacity: &Bounds{Rate: 1200, Low: 1100, High: 1300}, Open: "not every trial found a capacity: stalls"}, Unknown, "-", "not every trial found a capacity: stalls", ""},
		{"a low rate fails, the need passes", Database{Steps: []Step{at(300, 5), at(500, 90), at(1000, 5), at(2000, 6)}}, Unknown, "at least 0.30 x", "at 500/s p99 was 90.0 ms, although steps at 1,000/s passed", "1,000/s"},
		{"the lowest rate fails, a higher one passes", Database{Steps: []Step{at(500, 90), at(700, 5), at(1500, 5), at(2000, 90)}}, Unknown, "below 2.0 x", "at 500/s p99 was 90.0 ms, although steps at 700/s passed", "1,500/s"},
		{"a low rate fails, and so does the need", Database{Steps: []Step{at(500, 90), at(700, 5), at(1000, 50)}}, NotMet, "below 1.00 x", "at 1,000/s p99 was 50.0 ms", ""},
		{"not valid", Database{Steps: []Step{at(1000, 5)}, Invalid: "keys found"}, Unknown, "-", "its numbers are not valid: keys found", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.d.Name = "etcd"
			a := Decide(need, []Database{tt.d}, nil).Answers[0]
			if a.Outcome != tt.want || a.Headroom != tt.headroom || !strings.Contains(a.Why, tt.why) || a.At != tt.at {
				t.Errorf("got %s, headroom %s, at %q: %s\nwant %s, headroom %s, at %q: %s", a.Outcome, a.Headroom, a.At, a.Why, tt.want, tt.headroom, tt.at, tt.why)
			}
			if tt.at != "" && (a.CPU == "-" || a.Memory != "50 MB" || !strings.HasSuffix(a.Disk, "MB/s")) {
				t.Errorf("costs are %s, %s and %s", a.CPU, a.Memory, a.Disk)
			}
		})
	}
}

// Any database that meets the need is enough; without one, a single unknown leaves it
// open.
func TestDecide(t *testing.T) {
	need := workload.Need{Rate: 1000, Latency: 20 * time.Millisecond, At: "p99", Errors: 0.1}
	a := Database{Name: "a", Steps: []Step{at(1000, 5), at(2000, 90)}}
	b := Database{Name: "b", Steps: []Step{at(1000, 5), at(3000, 9)}}
	c := Database{Name: "c", Steps: []Step{at(1000, 95)}}
	u := Database{Name: "u", Closed: 5}
	const asked = "1,000/s with p99 <= 20ms and at most 0.1% errors"
	for _, tt := range []struct {
		all     []Database
		want    Outcome
		verdict string
	}{
		{[]Database{a}, Met, "a meets " + asked + "."},
		{[]Database{a, b, c}, Met, "b and a meet " + asked + ". c does not. b has the most headroom: at least 3.0 x."},
		{[]Database{c}, NotMet, "c does not meet " + asked + "."},
		{[]Database{c, u}, Unknown, "c does not meet " + asked + ". It is not known whether u does."},
		{[]Database{u}, Unknown, "It is not known whether u meets " + asked + "."},
		{nil, Unknown, ""},
	} {
		got := Decide(need, tt.all, []string{"one machine"})
		if got.Outcome != tt.want || got.Verdict != tt.verdict {
			t.Errorf("got %s: %s\nwant %s: %s", got.Outcome, got.Verdict, tt.want, tt.verdict)
		}
		for _, text := range []string{got.Text(), got.Markdown()} {
			if !strings.Contains(text, "one machine") {
				t.Errorf("the limits are missing:\n%s", text)
			}
		}
	}
	few := at(1000, 5)
	few.Latency.Marks = []string{run.FewMark}
	if got := Decide(need, []Database{{Name: "a", Steps: []Step{few}}}, nil); !slices.ContainsFunc(got.Limits, func(l string) bool { return strings.Contains(l, "depends on chance") }) {
		t.Errorf("too few requests are no limit of %q", got.Limits)
	}
}
