package chart

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/config"
)

// threeTrials is the data for two databases in three trials. The trials of a database have
// throughputs in the ratio 1:2:4.
func threeTrials(t *testing.T) *Data {
	t.Helper()
	d := &Data{}
	for trial := 1; trial <= 3; trial++ {
		runs, err := run.FromFolder(runtest.TwoDatabases(t))
		if err != nil {
			t.Fatalf("read the runs: %v", err)
		}
		manifest := *runs[0].Info.Manifest
		manifest.Trials, manifest.Trial = 3, trial
		for _, r := range runs {
			r.Info.Manifest = &manifest
			if trial > 1 {
				r.Info.Tag += fmt.Sprintf(" #%d", trial)
			}
			for i := range r.Load.Seconds {
				r.Load.Seconds[i].OK *= float64(int(1) << (trial - 1))
			}
		}
		d.Runs = append(d.Runs, runs...)
	}
	for _, r := range d.Runs {
		d.Series = append(d.Series, NewSeries(r))
	}
	for _, p := range config.DefaultPlots() {
		d.Plots = append(d.Plots, Plot(p))
	}
	return d
}

// Trials are one line, their median, with a band from the lowest to the highest. The trials
// themselves are in the CSV, not in pictures.
func TestTrialsAreOneLine(t *testing.T) {
	d := threeTrials(t)
	f := named(t, d.Figures(), "AVG-THROUGHPUT")
	if n := lines(f); n != 2 || len(f.Series) != 8 {
		t.Fatalf("%d lines and %d series in all, want 2 and 8", n, len(f.Series))
	}
	median, first, second, third := f.Series[0], f.Series[1], f.Series[2], f.Series[3]
	if median.Name != "etcd-v3.6" || first.Name != "etcd-v3.6" || third.Name != "etcd-v3.6 #3" || third.Trial != 3 || !third.Detail {
		t.Errorf("series %q, %q, %q of trial %d", median.Name, first.Name, third.Name, third.Trial)
	}
	for i := range median.Y {
		if median.Y[i] != second.Y[i] || median.Low[i] != first.Y[i] || median.High[i] != third.Y[i] || first.Y[i] == 0 {
			t.Errorf("point %d: %v from %v to %v, want %v from %v to %v", i, median.Y[i], median.Low[i], median.High[i], second.Y[i], first.Y[i], third.Y[i])
		}
	}
	if !strings.Contains(f.Band, "median and range of 3 trials") {
		t.Errorf("the legend does not explain the line: %q", f.Band)
	}
	var table, with, without bytes.Buffer
	if err := figure.CSV(&table, f); err != nil {
		t.Fatalf("write the table: %v", err)
	}
	for _, column := range []string{"etcd-v3.6 median", "etcd-v3.6 least", "etcd-v3.6 most", "etcd-v3.6", "etcd-v3.6 #2", "etcd-v3.6 #3"} {
		header, _, _ := strings.Cut(table.String(), "\n")
		if names := strings.Split(header, ","); len(slices.DeleteFunc(names, func(n string) bool { return n != column })) != 1 {
			t.Errorf("the table has not one column %q: %s", column, header)
		}
	}
	if err := figure.SVG(&with, f); err != nil {
		t.Fatalf("draw the figure: %v", err)
	}
	f.Series = slices.DeleteFunc(slices.Clone(f.Series), func(s figure.Series) bool { return s.Detail })
	if err := figure.SVG(&without, f); err != nil {
		t.Fatalf("draw the figure: %v", err)
	}
	if with.String() != without.String() {
		t.Error("the picture shows the trials")
	}
}

// No figure about trials has more lines, boxes or heat maps than one about a single trial has.
func TestFiguresOfTrialsAreAsMany(t *testing.T) {
	one := stepped(t)
	trials := threeTrials(t)
	one.Plots = trials.Plots
	want := map[string]int{}
	for _, f := range one.Figures() {
		want[f.Name] = lines(f)
	}
	for _, f := range trials.Figures() {
		if n, known := want[f.Name]; !known || lines(f) != n {
			t.Errorf("%s has %d lines, of a single trial %d", f.Name, lines(f), n)
		}
		delete(want, f.Name)
	}
	if len(want) > 0 {
		t.Errorf("figures that trials lack: %v", want)
	}
}

// A heat map over trials counts all their requests.
func TestHeatMapsOfTrialsAddUp(t *testing.T) {
	sum := func(f figure.Figure) (n float64) {
		for _, column := range f.Grid.Counts {
			for _, v := range column {
				n += v
			}
		}
		return n
	}
	one, three := heatFigures(stepped(t))[0], heatFigures(threeTrials(t))[0]
	if sum(three) != 3*sum(one) || sum(one) == 0 {
		t.Errorf("%v requests in three trials, %v in one", sum(three), sum(one))
	}
	if !strings.Contains(three.Short, "3 trials") {
		t.Errorf("the title %q does not say how many trials", three.Short)
	}
}

// A second that at most half the trials have gives no median: where the slowest trial ends is not
// drawn as the end of all. Parts of seconds count only if there is nothing else.
func TestPlacesOfFewTrialsAreGaps(t *testing.T) {
	whole, part := spot{y: 4, low: 4, high: 4}, spot{y: 1, low: 1, high: 1, partial: true}
	for _, c := range []struct {
		name    string
		all     []spot
		y       float64
		partial bool
	}{
		{"one of three", []spot{whole}, math.NaN(), false},
		{"one of three and a gap", []spot{whole, {y: math.NaN()}}, math.NaN(), false},
		{"two whole and a part", []spot{whole, part, whole}, 4, false},
		{"one whole and two parts", []spot{whole, part, part}, 1, true},
	} {
		got := (&joiner{all: c.all}).point(3)
		if got.y != c.y && !(math.IsNaN(got.y) && math.IsNaN(c.y)) || got.partial != c.partial {
			t.Errorf("%s: %v, part of a second %v, want %v, %v", c.name, got.y, got.partial, c.y, c.partial)
		}
	}
}

func TestLeastCommonMultiple(t *testing.T) {
	if got := leastCommonMultiple(2, 5); got != 10 {
		t.Errorf("bins of 2 and 5 seconds fit into %d, want 10", got)
	}
}
