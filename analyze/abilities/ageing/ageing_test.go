package ageing

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/stats/drift"
)

// of is a run with a two-hour step whose median values are 100 and whose drifts are given in
// percent per hour; those below 1 are not found.
func of(grows bool, drifts ...float64) *run.Run {
	s := run.AgeingStep{Requests: make([]int64, 120)}
	for _, d := range drifts {
		m := run.AgeingMeasure{Values: make([]float64, 120), P: 0.002}
		m.Drift = drift.Drift{N: 118, Median: 100, Slope: d / 60, Low: (d - 0.5) / 60, High: (d + 0.5) / 60, Smallest: 0.8 / 60}
		if math.Abs(d) < 1 {
			m.P = 0.3
		}
		s.Measures = append(s.Measures, m)
	}
	for len(s.Measures) < len(run.AgeingMeasures) {
		s.Measures = append(s.Measures, run.AgeingMeasure{Values: make([]float64, 120), Missing: "not recorded"})
	}
	return &run.Run{Ageing: run.Ageing{Steps: []run.AgeingStep{s}, Grows: grows}}
}

func TestRows(t *testing.T) {
	r := of(false, 0.2, 12.2, -3)
	want := []string{
		"none found: +0.20 %/h [-0.30 .. +0.70], p 0.3000, smallest 0.8 %/h, 118 minutes",
		"+12 %/h [+12 .. +13], p 0.0020, smallest 0.8 %/h, 118 minutes",
		"-3.00 %/h [-3.50 .. -2.50], p 0.0020, smallest 0.8 %/h, 118 minutes",
		"", "",
	}
	for i, row := range (Half{}).Rows() {
		m, text := row.Cell(r)
		if text != want[i] || (text == "") != (m.Missing != "") {
			t.Errorf("%s is %q (%+v), want %q", row.Name, text, m, want[i])
		}
	}
	second := of(false, 5)
	r.Ageing.Steps = append(r.Ageing.Steps, second.Ageing.Steps...)
	r.Ageing.Steps[0].Label, r.Ageing.Steps[1].Label = "step 1", "step 2"
	m, text := (Half{}).Rows()[0].Cell(r)
	if math.Abs(m.Value-5) > 1e-9 || m.N != 118 || math.Abs(m.Low-4.5) > 1e-9 || !strings.Contains(text, "step 1: none found") || !strings.Contains(text, "; step 2: +5.00 %/h") {
		t.Errorf("two steps are %+v, %q", m, text)
	}
	m, text = (Half{}).Rows()[0].Cell(&run.Run{Ageing: run.Ageing{Missing: "not judged, too short"}})
	if !m.Inapplicable || m.Missing != "not judged, too short" || text != "" {
		t.Errorf("a short run is %+v, %q", m, text)
	}
}

// The first screen names the largest rise that is at least 5 % of the median, and no growth that
// the load asks for.
func TestFindings(t *testing.T) {
	say := (Half{}).Findings()[0].Of
	for _, c := range []struct {
		of   *run.Run
		want string
	}{
		{of(false, 0.2, 2), ""},
		{of(false, 3, 4, 9), "memory +9.00 %/h [+8.50 .. +9.50] over 2.0 h"},
		{of(true, 3, 4, 9), "p99 +4.00 %/h [+3.50 .. +4.50] over 2.0 h"},
		{of(false, -9, -9), ""},
	} {
		if got := say([]*run.Run{{}, c.of}); got != c.want {
			t.Errorf("the finding is %q, want %q", got, c.want)
		}
	}
}

func TestFiles(t *testing.T) {
	r := of(false, 1)
	s := &r.Ageing.Steps[0]
	s.Requests[1], s.Measures[0].Values[1], s.Measures[1].Values[1] = 6000, 2.5, math.NaN()
	files := (Half{}).Files(r)
	if len(files) != 1 || !slices.Equal((Half{}).FileNames(), []string{files[0].Name}) || files[0].Name != "ageing.csv" || len(files[0].Records) != 121 {
		t.Fatalf("files %+v, want one with a line for each minute", files)
	}
	if got := strings.Join(files[0].Records[2], ","); got != "0,2,6000,2.5,,0,0,0" {
		t.Errorf("the second minute is %q", got)
	}
	if (Half{}).Files(&run.Run{}) != nil {
		t.Error("a file without minutes")
	}
}
