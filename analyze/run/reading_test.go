package run

import (
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/coreos/dbtester/analyze/run/packed"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// secondValues are the readings of a member by second.
type secondValues struct{ cpu, mb, sectors []float64 }

func valuesOf(m Machine, seconds int) secondValues {
	readings := maps.Collect(m.readings().each)
	var v secondValues
	for i := range seconds {
		cpuShare, memory, written := math.NaN(), math.NaN(), math.NaN()
		if r, known := readings[runtest.Begin+int64(i)]; known {
			cpuShare, memory, written = r.Value(Of(metric.CPUPercent)).Float(), r.Value(Of(metric.RSSBytes)).Times(1e-6).Float(), r.Rate(Of(metric.SectorsWritten)).Float()
		}
		v.cpu, v.mb, v.sectors = append(v.cpu, cpuShare), append(v.mb, memory), append(v.sectors, written)
	}
	return v
}

func TestReadings(t *testing.T) {
	gap := math.NaN()
	start := runtest.Busy(runtest.Sampled(-.5, 0, 0, 40), runtest.Sampled(0, .5, .1, 50), runtest.Sampled(1, 1, .3, 51), runtest.Sampled(2, 1, .6, 52))
	died := append(start, runtest.Ended(2.625, .625, .6))
	for name, tt := range map[string]struct {
		samples []results.Sample
		want    secondValues
	}{
		"a full last second": {append(start, runtest.Sampled(3, 1, .6, 53)), secondValues{[]float64{20, 30, 0}, []float64{51, 52, 53}, []float64{1000, 1000, 1000}}},
		// Its usage until its end was not sampled; its memory was sampled in that second.
		"the processes ended": {died, secondValues{[]float64{20, 30, gap}, []float64{51, 52, 52}, []float64{1000, 1000, 1000}}},
		"and stay so": {append(died, runtest.Ended(3, .375, .6), runtest.Ended(4, 1, .6)),
			secondValues{[]float64{20, 30, gap, gap}, []float64{51, 52, 52, gap}, []float64{1000, 1000, 1000, 1000}}},
		// The last two samples are one row over 1.625 s, which stands for both seconds.
		"interpolated": {results.Interpolate(died), secondValues{
			[]float64{20, 30 / 1.625, 30 / 1.625}, []float64{51, 52, 52}, []float64{1000, 1000, 1000}}},
		// The period of the row belongs to the previous second; the second itself has only a
		// moment.
		"ended just after a second began": {results.Interpolate(append(start, runtest.Ended(2.125, .125, .6))),
			secondValues{[]float64{20, 30 / 1.125, gap}, []float64{51, 52, 52}, []float64{1000, 1000, gap}}},
		"a missed sample is a gap": {runtest.Busy(append(start, runtest.Sampled(4, 2, .9, 53))...),
			secondValues{[]float64{20, 30, gap, 15}, []float64{51, 52, 52, 53}, []float64{1000, 1000, gap, 1000}}},
		"a late sample and its successor share a second": {runtest.Busy(runtest.Sampled(0, 0, 0, 50), runtest.Sampled(1.75, 1.75, .7, 51), runtest.Sampled(2, .25, .75, 52)),
			secondValues{[]float64{gap, 37.5, gap}, []float64{50, 52, 52}, []float64{gap, 1000, gap}}},
		"two in the first second":  {runtest.Busy(runtest.Sampled(.25, 0, 0, 50), runtest.Sampled(1, .75, .3, 51)), secondValues{[]float64{40, gap}, []float64{51, 51}, []float64{1000, gap}}},
		"no process was ever seen": {[]results.Sample{runtest.Ended(0, 0, 0), runtest.Ended(1, 1, 0)}, secondValues{[]float64{gap, gap}, []float64{gap, gap}, []float64{1000, gap}}},
	} {
		got := valuesOf(Machine{Samples: packed.Of(tt.samples...)}, len(tt.want.cpu))
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(secondValues{}), cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-6, 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Readings made in batches equal those from all samples at once, whatever the times between samples
// and whatever they lack.
func TestReadingsInParts(t *testing.T) {
	noise := rand.New(rand.NewPCG(5, 6))
	for range 5 {
		var samples []results.Sample
		at, cpu := int64(runtest.Begin*1e9), 0.0
		for range 3*readingsAtOnce + noise.IntN(readingsAtOnce) {
			period := []int64{1e9, 1e9, 1e9, 1e9 + noise.Int64N(2e8) - 1e8, 3e8 + noise.Int64N(1e9), noise.Int64N(5e9), 1e5}[noise.IntN(7)]
			at, cpu = at+period, cpu+noise.Float64()
			s := runtest.Sampled(float64(at)/1e9-runtest.Begin, float64(period)/1e9, cpu, float64(noise.IntN(100)))
			s.UnixNano, s.PeriodNS = at, period
			for _, n := range []metric.Name{metric.CPUPercent, metric.RSSBytes, metric.Processes, metric.SectorsWritten} {
				switch noise.IntN(8) {
				case 0:
					s.Set(n, metric.Unknown)
				case 1:
					s.Set(n, 0)
				}
			}
			samples = append(samples, s)
		}
		m := Machine{Samples: packed.Of(samples...)}
		want, got := readingsOf(samples), map[int64]*Reading{}
		last := int64(math.MinInt64)
		for second, r := range m.readings().each {
			if second <= last {
				t.Fatalf("second %d comes after %d", second, last)
			}
			got[second], last = r, second
		}
		if len(got) != len(want) {
			t.Errorf("there must be %d readings, got %d", len(want), len(got))
		}
		for second, w := range want {
			g := got[second]
			if g == nil {
				t.Fatalf("second %d must have a reading", second)
			}
			for i, m := range metric.System().Metrics() {
				q := Of(m.Name)
				if a, b := w.Values.At(i), g.Values.At(i); a != b {
					t.Fatalf("second %d: %s must be %v, got %v", second, m.Name, a, b)
				}
				if a, b := w.Rate(q), g.Rate(q); a.Known() != b.Known() || a.Value != b.Value {
					t.Fatalf("second %d: the rate of %s must be %+v, got %+v", second, m.Name, a, b)
				}
			}
		}
	}
}
