package compare

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/stats/abtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// searched makes a side's runs searches that found their throughput as capacity. Each held its own
// rate.
func searched(s Side) Side {
	for _, r := range s.Runs {
		rate := r.Run.Stages[0].Throughput.Average.Value
		c := capacity.Plan{Latency: 20 * time.Millisecond, At: 99, Errors: .1, Window: 8 * time.Second, Share: 80, Tolerance: 6, Windows: 40, Hold: time.Minute}
		r.Run.Capacity = &run.Capacity{Result: &capacity.Result{Plan: c, Reason: "found", Rate: rate, Low: .98 * rate, High: 1.02 * rate, Counted: 20}}
		r.Run.Info.Record.Load.Rate = .97 * rate
		r.Run.Info.Record.Steps = []results.Step{{Step: workload.Step{Clients: 10, Rate: .97 * rate}}}
	}
	return s
}

func byCapacity() Options { return Options{Metrics: []string{"capacity"}, Margin: .03} }

// TestCapacity: searches are compared by their capacities, in pairs if they were made in
// turns, and higher is better.
func TestCapacity(t *testing.T) {
	slow, fast := []float64{9500, 9600, 9480, 9550, 9520, 9580, 9510, 9490}, []float64{10_000, 10_100, 9980, 10_050, 10_020, 10_080, 10_010, 9990}
	for _, tt := range []struct {
		name        string
		a, b        Side
		want        abtest.Verdict
		interleaved bool
		sentence    string
	}{
		{"pairs in turns", turns(fast, slow, "A"), turns(fast, slow, "B"), abtest.Worse, true, "B is worse than A: capacity -5.0 % ["},
		{"one side after the other", side("A", 0, 1, slow...), side("B", 60, 1, fast...), abtest.Better, false, "B is better than A: capacity +5.3 % ["},
		{"equal", side("A", 0, 1, fast...), side("B", 60, 1, fast[1:]...), abtest.Equivalent, false, "B is equivalent to A within 3 %: capacity"},
	} {
		r, err := compareSides(byCapacity(), searched(tt.a), searched(tt.b))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if r.Verdict != tt.want || r.Interleaved != tt.interleaved || !strings.Contains(r.Sentence(), tt.sentence) {
			t.Errorf("%s: %s, interleaved %v, %q; want %s, %v, %q", tt.name, r.Verdict, r.Interleaved, r.Sentence(), tt.want, tt.interleaved, tt.sentence)
		}
		// It leaves out the numbers and rates of the last windows.
		if text := r.Text(); len(r.Findings) != 1 || strings.Contains(text, "throughput") || strings.Contains(text, "rates") {
			t.Errorf("%s: %d metrics, want the capacity alone and no rate that differs:\n%s", tt.name, len(r.Findings), text)
		}
		if text := strings.Join(r.Notes, "\n"); strings.Contains(text, "less precisely than the margin") {
			t.Errorf("%s: intervals of 2 %% are noted beside a margin of 3 %%:\n%s", tt.name, text)
		}
	}
}

// TestCapacityIntervals: a search that knows its capacity less precisely than the margin is named.
func TestCapacityIntervals(t *testing.T) {
	a, b := searched(side("A", 0, 1, 1000, 1001, 1002)), searched(side("B", 60, 1, 1000, 1001, 1002))
	b.Runs[1].Run.Capacity.Low, b.Runs[1].Run.Capacity.High = 900, 1100
	r, err := compareSides(byCapacity(), a, b)
	if want := "a single search knows its capacity to within 11 % (B2, 95 %), less precisely than the margin of 3 %"; err != nil || !strings.Contains(strings.Join(r.Notes, "\n"), want) {
		t.Errorf("%v %+v, want a note %q", err, r, want)
	}
}

// TestCapacityUnknown: a search that ended without a capacity leaves no verdict.
func TestCapacityUnknown(t *testing.T) {
	a, b := searched(side("A", 0, 1, 1000, 1001, 1002, 1003, 1004)), searched(side("B", 60, 1, 500, 501, 502, 503, 504))
	b.Runs[2].Run.Capacity.Reason = "below the least rate"
	r, err := compareSides(byCapacity(), a, b)
	if want := "capacity is not known for B3 (the search ended without a capacity: below the least rate)"; err != nil || r.Verdict != abtest.Inconclusive || !strings.Contains(strings.Join(r.Notes, "\n"), want) {
		t.Errorf("%v %+v, want inconclusive and a note %q", err, r, want)
	}
}

// TestCapacityRefusals: a capacity is compared where both sides searched for the same, and
// nothing else is.
func TestCapacityRefusals(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options Options
		change  func(a, b *Side)
		want    string // "" is a comparison
	}{
		{"throughput of searches", options(), nil, "A1, A2, A3, B1, B2, B3 searched for a capacity, so each of these runs ended at its own rate: --metric capacity"},
		{"one side did not search", byCapacity(), func(_, b *Side) { *b = side("B", 60, 1, 1000, 1001, 1002) }, "no capacity was searched for in B1, B2, B3"},
		{"one side searched", options(), func(_, b *Side) { *b = side("B", 60, 1, 1000, 1001, 1002) }, "A1, A2, A3 searched for a capacity, so"},
		{"another limit", byCapacity(), func(_, b *Side) { b.Runs[1].Run.Capacity.Latency = time.Second }, "capacity.latency_ns: 20000000 in A1, 1000000000 in B2"},
		{"other windows", byCapacity(), func(a, _ *Side) { a.Runs[2].Run.Capacity.Window = time.Second }, "capacity.window_ns: 8000000000 in A1, 1000000000 in A3"},
		{"another load", byCapacity(), func(_, b *Side) { b.Runs[0].Run.Info.Record.Load.ValueSize = 7 }, "value_size"},
		{"another hold", byCapacity(), func(_, b *Side) { b.Runs[1].Run.Capacity.Hold = 0 }, ""},
	} {
		a, b := searched(side("A", 0, 1, 1000, 1001, 1002)), searched(side("B", 60, 1, 1000, 1001, 1002))
		if tt.change != nil {
			tt.change(&a, &b)
		}
		_, err := compareSides(tt.options, a, b)
		if refusal := (*Refusal)(nil); errors.As(err, &refusal) != (tt.want != "") || tt.want != "" && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestCheckMetrics: metrics exist, and the capacity is alone. It counts once, whatever the
// load is.
func TestCheckMetrics(t *testing.T) {
	for _, tt := range []struct {
		metrics []string
		want    string
	}{
		{Defaults(), ""},
		{[]string{"capacity"}, ""},
		{[]string{"capacity", "p99"}, "metric capacity must be the only one, got capacity, p99"},
		{[]string{"p42"}, `metric must be one of throughput, p50, p90, p99, p999, capacity, blackout, got "p42"`},
		{[]string{"blackout", "p99"}, "metric blackout must be the only one, got blackout, p99: what it is of changes the other numbers"},
	} {
		if err := CheckMetrics(tt.metrics); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.metrics, err, tt.want)
		}
	}
	s := Session{Options: byCapacity(), Stages: 3}
	if n := s.deciding(); n != 1 {
		t.Errorf("%d metrics decide about searches, want 1", n)
	}
}
