package chart

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/dbtester/analyze/answers/curve"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// point is a run or a step with a throughput and a p99.
func point(rate float64, down bool, throughput, p99 float64) *run.Stage {
	g := &run.Stage{Label: run.RateText(rate, 0), Rate: [2]float64{rate}, Clients: 10, Down: down}
	g.Throughput.Average = run.Measured(throughput, 1)
	g.Latency = run.Latency{Clock: run.FromDue, Due: &run.Distribution{Quantile: func(float64) run.Measure { return run.Measured(p99, 5000) }}}
	g.Availability.Success = run.Measured(100, 1)
	return g
}

func sweptRun(tag string, s *workload.Swept, stages ...*run.Stage) *run.Run {
	return &run.Run{Info: run.Info{Tag: tag, Record: &results.DatabaseRun{Tag: tag, Database: strings.Split(tag, "-")[0], Swept: s}}, Stages: stages}
}

// A sweep is one picture: throughput and latency, each with its own scale. The way back has
// markers that point down, and begins where the way up ends.
func TestSweepOfRates(t *testing.T) {
	all := &workload.Swept{Key: workload.SweepRate, Of: "etcd"}
	d := &Data{Runs: []*run.Run{sweptRun("etcd", all,
		point(1000, false, 1000, 3), point(2000, false, 2000, 5), point(4000, false, 3100, 900), point(2000, true, 2000, 50), point(1000, true, 1000, 3))}}
	d.Sweeps = curve.Of(d.Runs)
	f := named(t, sweepFigures(d), "SWEEP-RATE")
	if len(f.Panels) != 2 || len(f.PanelY) != 2 || !f.X.Log || f.PanelY[0].Log || !f.PanelY[1].Log || len(f.Series) != 4 {
		t.Fatalf("%d panels, %d axes, %d series", len(f.Panels), len(f.PanelY), len(f.Series))
	}
	up, down := f.Series[2], f.Series[3]
	if !slices.Equal(up.X, []float64{1000, 2000, 4000}) || !slices.Equal(down.X, []float64{4000, 2000, 1000}) || !slices.Equal(down.Y, []float64{900, 50, 3}) {
		t.Errorf("up %v, down %v: %v", up.X, down.X, down.Y)
	}
	if up.Marker == down.Marker || up.Key != down.Key || down.Dash != figure.Dashed || up.Panel != 1 {
		t.Errorf("up %+v\ndown %+v", up, down)
	}
	drawn(t, f)
	knee := kneeFigures(d)[0]
	if len(knee.Series) != 2 || len(knee.Series[0].X) != 3 || len(knee.Series[1].X) != 2 || knee.Series[0].Marker == knee.Series[1].Marker {
		t.Errorf("the knee has %+v", knee.Series)
	}
}

// A record that begins on the way back, because earlier steps are lost, is also drawn.
func TestSweepWithoutTheWayUp(t *testing.T) {
	all := func(of string) *workload.Swept { return &workload.Swept{Key: workload.SweepRate, Of: of} }
	d := &Data{Runs: []*run.Run{
		sweptRun("etcd", all("etcd"), point(2000, true, 2000, 50), point(1000, true, 1000, 3)),
		sweptRun("consul", all("consul"), point(1000, false, 1000, 3), point(2000, false, 2000, 50), point(1000, true, 1000, 3)),
	}}
	d.Sweeps = curve.Of(d.Runs)
	f := named(t, sweepFigures(d), "SWEEP-RATE")
	if len(f.Series) != 6 || !slices.Equal(f.Series[0].X, []float64{2000, 1000}) || f.Series[0].Dash != figure.Dashed {
		t.Errorf("%d series, the first %+v, want the way back alone", len(f.Series), f.Series[0])
	}
	var svg bytes.Buffer
	if err := figure.SVG(&svg, f); err != nil {
		t.Errorf("draw the figure: %v", err)
	}
}

// Data before the load has its texts on the axis, and zero a place left of the smallest value.
func TestSweepOfData(t *testing.T) {
	d := &Data{}
	for _, p := range []struct {
		value int64
		text  string
	}{{0, "0"}, {1 << 30, "1GiB"}, {4 << 30, "4GiB"}} {
		d.Runs = append(d.Runs, sweptRun("etcd-preload-"+p.text, &workload.Swept{Key: workload.SweepPreload, Of: "etcd", Value: p.value, Text: p.text}, point(0, false, 100, 3)))
	}
	d.Sweeps = curve.Of(d.Runs)
	f := named(t, sweepFigures(d), "SWEEP-PRELOAD")
	if x := f.Series[0].X; len(f.Series) != 2 || len(x) != 3 || !(x[0] > 0 && x[0] < x[1]) || f.X.Names[x[0]] != "0" || f.X.Names[x[2]] != "4GiB" {
		t.Errorf("%d series at %v, named %v", len(f.Series), x, f.X.Names)
	}
	drawn(t, f)
}

// drawn draws a figure, and looks for the names of its values.
func drawn(t *testing.T, f figure.Figure) {
	t.Helper()
	var svg, csv bytes.Buffer
	if err := figure.SVG(&svg, f); err != nil {
		t.Fatalf("draw the figure: %v", err)
	}
	if err := figure.CSV(&csv, f); err != nil {
		t.Fatalf("write the figure's data: %v", err)
	}
	for _, name := range f.X.Names {
		if !strings.Contains(svg.String(), name) {
			t.Errorf("the picture lacks the value %s", name)
		}
	}
	if header, _, _ := strings.Cut(csv.String(), "\n"); strings.Count(header, f.Series[0].Name+", Throughput") == 0 {
		t.Errorf("the data has the columns %s", header)
	}
}
