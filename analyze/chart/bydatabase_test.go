package chart

import (
	"testing"

	"github.com/coreos/dbtester/analyze/figure"
)

// onePoint keeps the last step of each run.
func onePoint(d *Data) *Data {
	for _, r := range d.Runs {
		r.Stages = r.Stages[len(r.Stages)-1:]
	}
	return d
}

// Databases at one point are bars for the medians over trials; the trials are dots on them.
func TestDatabasesAtOnePoint(t *testing.T) {
	d := onePoint(threeTrials(t))
	for i, r := range d.Runs {
		r.Stages[0].Throughput.Average.Value = []float64{100, 500, 400, 200, 250, 900}[i] // of two databases in turn
	}
	f := named(t, databaseFigures(d), "THROUGHPUT-BY-DATABASE")
	if f.Kind != figure.Bars || len(f.Categories) != 2 || len(f.Series) != 4 {
		t.Fatalf("%d categories and %d series of kind %v, want 2, the median and 3 trials", len(f.Categories), len(f.Series), f.Kind)
	}
	median, third := f.Series[0], f.Series[3]
	if median.Y[0] != 250 || median.Y[1] != 500 || len(median.Hues) != 2 || median.Hues[0] == median.Hues[1] {
		t.Errorf("medians %v in colours %v, want 250 and 500 in two", median.Y, median.Hues)
	}
	if !third.Detail || third.Trial != 3 || third.Y[0] != 250 || third.Y[1] != 900 {
		t.Errorf("trial %d of values %v, want 250 and 900 of trial 3", third.Trial, third.Y)
	}
	named(t, databaseFigures(d), "P99-BY-DATABASE")
}

// If the question is about the course of the load, time is the axis.
func TestNoBarsOfWhatHasACourse(t *testing.T) {
	if got := databaseFigures(threeTrials(t)); len(got) > 0 {
		t.Errorf("%d figures of a load with steps, want none", len(got))
	}
	d := onePoint(threeTrials(t))
	d.Runs[0].Info.Record.Load.Expect.LostServers = 1
	if got := databaseFigures(d); len(got) > 0 {
		t.Errorf("%d figures of a load that is to lose a server, want none", len(got))
	}
	single := onePoint(stepped(t))
	if got := databaseFigures(single); len(got) > 0 {
		t.Errorf("%d figures of two databases without trials, want their lines over time alone", len(got))
	}
}
