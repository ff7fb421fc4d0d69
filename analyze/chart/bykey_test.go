package chart

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
)

// In a second with a stall hardly any request ends, so it reaches no multiple of the unit. Its
// latency must still be in the picture.
func TestByKeyFiguresKeepStalls(t *testing.T) {
	r := &run.Run{Info: run.Info{Tag: "etcd", Record: &results.DatabaseRun{}}}
	for i, s := range []run.Sums{
		{Count: 12_000, Sum: 24_000, Min: 1, Max: 9},
		{Count: 300, Sum: 300 * 50, Min: 2, Max: 151},
		{}, // nothing was answered
		{Count: 400, Sum: 400 * 700, Min: .5, Max: 1632},
		{Count: 11_300, Sum: 22_600, Min: 1, Max: 8},
	} {
		r.Load.Seconds = append(r.Load.Seconds, run.Second{Unix: runtest.Begin + int64(i), Clients: 10, OK: s.Count, Latency: s})
	}
	d := &Data{Runs: []*run.Run{r}, Series: []*Series{NewSeries(r)}}
	for _, f := range keyFigures(d) {
		if f.Name != "AVG-LATENCY-MS-BY-KEY-ERROR-POINTS" {
			continue
		}
		s := f.Series[0]
		if len(s.X) != 24 || s.X[11] != 12_000 || s.X[12] != 13_000 {
			t.Fatalf("the points are at %v", s.X)
		}
		stall := (300.0*50 + 400*700 + 22_600) / 12_000
		got, want := [][3]float64{}, [][3]float64{{1, 2, 9}, {.5, stall, 1632}, {1, 2, 8}}
		for _, i := range []int{11, 12, 13} {
			got = append(got, [3]float64{s.Low[i], s.Y[i], s.High[i]})
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("least, mean and most before, with and after the stall (-want +got):\n%s", diff)
		}
		return
	}
	t.Error("no figure of latency by keys")
}

// A second without a sample does not turn the seconds around it into a gap.
func TestMergedSeconds(t *testing.T) {
	values := []float64{math.NaN(), 4, math.NaN(), 8}
	for _, test := range []struct {
		name        string
		merge       merge
		first, last int
		want        float64
	}{
		{"mean", meanOf, 0, 3, 6}, {"least", leastOf, 0, 3, 4}, {"most", mostOf, 0, 3, 8},
		{"weighted", meanBy(func(i int) float64 { return []float64{9, 3, 9, 1}[i] }), 0, 3, 5},
		{"mean of a gap", meanOf, 2, 2, math.NaN()}, {"least of a gap", leastOf, 0, 0, math.NaN()},
	} {
		if got := test.merge(values, keyRow{first: test.first, last: test.last}); got != test.want && !(math.IsNaN(got) && math.IsNaN(test.want)) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
