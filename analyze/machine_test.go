package analyze

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/coreos/dbtester/pkg/results"
)

// sampled is a sample of a member that runs, at a time in seconds after begin and
// the period before it.
func sampled(at, period, cpu, mb float64) results.Sample {
	s := fixtureSample(1, int64(at), 0, int64(period*1e9), 0)
	s.UnixNano = begin*1e9 + int64(math.Round(at*1e9))
	s.CPUSeconds, s.CPUPercent, s.RSSBytes = cpu, 0, int64(mb*1e6)
	s.SectorsWritten = int64(math.Round(at * 1000))
	return s
}

// busy gives samples the percentages that their CPU seconds make.
func busy(samples ...results.Sample) []results.Sample {
	for i := range samples[1:] {
		if s := &samples[i+1]; s.Processes > 0 {
			s.CPUPercent, _ = results.CPUPercent(samples[i].CPUSeconds, s.CPUSeconds, time.Duration(s.PeriodNS))
		}
	}
	return samples
}

// ended is a sample after the end of the member's processes, none of whose time
// since the sample before was seen.
func ended(at, period, cpu float64) results.Sample {
	s := sampled(at, period, cpu, 0)
	s.RSSBytes, s.RSSAnonBytes, s.PeakRSSBytes, s.VirtualBytes, s.FDs, s.Threads = -1, -1, -1, -1, -1, -1
	s.Processes, s.State, s.CPUPercent = 0, "", -1
	return s
}

// secondValues are what the members' readings say second by second.
type secondValues struct{ cpu, mb, sectors []float64 }

func valuesOf(m machine, seconds int) secondValues {
	readings := m.readings()
	var v secondValues
	for i := range seconds {
		cpuShare, memory, written := math.NaN(), math.NaN(), math.NaN()
		if r, known := readings[begin+int64(i)]; known {
			cpuShare, memory, written = r.value(cpu), r.value(rss)*1e-6, r.rate(sectorsWritten)
		}
		v.cpu, v.mb, v.sectors = append(v.cpu, cpuShare), append(v.mb, memory), append(v.sectors, written)
	}
	return v
}

func TestReadings(t *testing.T) {
	gap := math.NaN()
	start := busy(sampled(-.5, 0, 0, 40), sampled(0, .5, .1, 50), sampled(1, 1, .3, 51), sampled(2, 1, .6, 52))
	died := append(start, ended(2.625, .625, .6))
	for name, tt := range map[string]struct {
		samples []results.Sample
		want    secondValues
	}{
		"a full last second": {append(start, sampled(3, 1, .6, 53)), secondValues{[]float64{20, 30, 0}, []float64{51, 52, 53}, []float64{1000, 1000, 1000}}},
		// What it used until its end nobody saw; its memory was seen in that second.
		"the processes ended": {died, secondValues{[]float64{20, 30, gap}, []float64{51, 52, 52}, []float64{1000, 1000, 1000}}},
		"and stay so": {append(died, ended(3, .375, .6), ended(4, 1, .6)),
			secondValues{[]float64{20, 30, gap, gap}, []float64{51, 52, 52, gap}, []float64{1000, 1000, 1000, 1000}}},
		// The last two samples are one row of 1.625 s, which stands for both seconds.
		"interpolated": {results.Interpolate(died), secondValues{
			[]float64{20, 30 / 1.625, 30 / 1.625}, []float64{51, 52, 52}, []float64{1000, 1000, 1000}}},
		// The row's period is the second before's; of the second itself there is a moment.
		"ended just after a second began": {results.Interpolate(append(start, ended(2.125, .125, .6))),
			secondValues{[]float64{20, 30 / 1.125, gap}, []float64{51, 52, 52}, []float64{1000, 1000, gap}}},
		"a missed sample is a gap": {busy(append(start, sampled(4, 2, .9, 53))...),
			secondValues{[]float64{20, 30, gap, 15}, []float64{51, 52, 52, 53}, []float64{1000, 1000, gap, 1000}}},
		"a late sample and its successor share a second": {busy(sampled(0, 0, 0, 50), sampled(1.75, 1.75, .7, 51), sampled(2, .25, .75, 52)),
			secondValues{[]float64{gap, 37.5, gap}, []float64{50, 52, 52}, []float64{gap, 1000, gap}}},
		"two in the first second":  {busy(sampled(.25, 0, 0, 50), sampled(1, .75, .3, 51)), secondValues{[]float64{40, gap}, []float64{51, 51}, []float64{1000, gap}}},
		"no process was ever seen": {[]results.Sample{ended(0, 0, 0), ended(1, 1, 0)}, secondValues{[]float64{gap, gap}, []float64{gap, gap}, []float64{1000, gap}}},
	} {
		got := valuesOf(machine{samples: tt.samples}, len(tt.want.cpu))
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(secondValues{}), cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-6, 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The last keys of a run were written while the members ran, though their last
// samples found them ended: through the result folder's samples and through the
// interpolated file, memory does not fall to nothing.
func TestMemoryByKeyOfMembersThatEnded(t *testing.T) {
	raw := append(busy(sampled(-.5, 0, 0, 40), sampled(0, .5, .1, 50), sampled(1, 1, .3, 51), sampled(2, 1, .6, 52)), ended(2.625, .625, .6))
	for name, make := range map[string]func(*testing.T) []results.Sample{
		"raw": func(t *testing.T) []results.Sample { return raw },
		"interpolated": func(t *testing.T) []results.Sample {
			path := filepath.Join(t.TempDir(), results.FileServerInterpolated)
			if err := results.WriteInterpolated(path, results.Interpolate(raw)); err != nil {
				t.Fatal(err)
			}
			return (&column{}).classicMachine(path, "member 1").samples
		},
	} {
		t.Run(name, func(t *testing.T) {
			samples := make(t)
			c := &column{servers: []machine{{samples: samples}, {samples: samples}}}
			for i := range 3 {
				c.seconds = append(c.seconds, second{unix: begin + int64(i), clients: 1, ok: 1000})
			}
			records := newSeries(c).memoryByKey(2)
			if len(records) != 31 {
				t.Fatalf("%d records: %v", len(records), records)
			}
			for i, record := range records[1:] {
				mb := fmt.Sprintf("%d.00", min(51+i/10, 52))
				if diff := cmp.Diff([]string{fmt.Sprint(100 * (i + 1)), mb, mb, mb}, record); diff != "" {
					t.Errorf("record %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}
