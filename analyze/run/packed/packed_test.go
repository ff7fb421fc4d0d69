package packed

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// Numbers are read as they were appended, bit for bit, from any place.
func TestColumnIsExact(t *testing.T) {
	number := rapid.OneOf(
		rapid.Just(-1.0), rapid.Just(0.0), rapid.Just(math.Copysign(0, -1)), rapid.Just(math.NaN()), rapid.Just(math.Inf(1)), rapid.Just(math.MaxFloat64),
		rapid.Float64(), rapid.Map(rapid.Int64(), func(n int64) float64 { return float64(n) }),
		rapid.Map(rapid.Int64Range(-1e6, 1e12), func(n int64) float64 { return float64(n) / 100 }),
		rapid.Map(rapid.Int64Range(1, 1e15), func(n int64) float64 { return float64(n) / 1e6 }),
	)
	rapid.Check(t, func(t *rapid.T) {
		var all []float64
		var c Column
		for _, v := range rapid.SliceOfN(number, 0, 50).Draw(t, "numbers") {
			for range rapid.IntRange(1, 3).Draw(t, "times") {
				all = append(all, v)
				c.Append(v)
			}
		}
		from := rapid.IntRange(0, len(all)).Draw(t, "from")
		r := c.Reader()
		r.Skip(from)
		for i, want := range all[from:] {
			if got := r.Next(); math.Float64bits(got) != math.Float64bits(want) {
				t.Fatalf("number %d of %v must be %v, got %v", from+i, all, want, got)
			}
		}
		if c.Len() != len(all) {
			t.Fatalf("the column must have %d numbers, got %d", len(all), c.Len())
		}
	})
}

func sample(second int64, cpu float64, device string) results.Sample {
	return results.Sample{
		UnixNano: second * 1e9, PeriodNS: 1e9 - second, Device: device, Interface: "eth0", BootID: "boot", NetNS: "net", Group: "/g",
		Values: metric.SystemValues(map[metric.Name]float64{metric.CPUSeconds: cpu, metric.SectorsWritten: float64(100 * second)}),
	}
}

// Samples are unpacked unchanged, except texts that name no source.
func TestSamples(t *testing.T) {
	want := []results.Sample{sample(1, .1, "vda"), sample(2, .25, "vda"), sample(3, metric.Unknown, "vdb"), sample(4, 7, "vdb")}
	s := Of(want...)
	if diff := cmp.Diff(want, s.All()); diff != "" {
		t.Errorf("unpacked samples (-want +got):\n%s", diff)
	}
	c := s.Cursor()
	var parts []results.Sample
	for len(parts) < len(want) {
		parts = c.Next(parts, 3)
	}
	if diff := cmp.Diff(want, parts); diff != "" {
		t.Errorf("samples in parts (-want +got):\n%s", diff)
	}
	s.Shift(func(at int64) int64 { return 10e9 - at })
	slices.Reverse(want)
	for i, one := range s.All() {
		if one.UnixNano != 10e9-want[i].UnixNano || one.Device != want[i].Device || !one.Values.Equal(want[i].Values) {
			t.Errorf("sample %d by a clock that runs backwards: got %+v", i, one)
		}
	}
	s.Forget()
	if last, ok := s.Last(); !ok || last.Device != "vda" || s.Len() != 1 {
		t.Errorf("the last sample must stay, got %+v of %d", last, s.Len())
	}
}

// Answers are unpacked unchanged, even if the bounds of a histogram change or if it is sometimes
// missing.
func TestAnswers(t *testing.T) {
	noise := rand.New(rand.NewPCG(1, 2))
	bounds := [][]float64{{1, math.Inf(1)}, {1, 2, math.Inf(1)}, nil}
	var want []results.DatabaseSample
	for i := range 40 {
		s := results.NewDatabaseSample()
		s.UnixNano, s.AskedNS, s.Bytes = int64(i)*1e9, noise.Int64N(1e7), 1000
		s.Values.Set(metric.Fsyncs, float64(10*i))
		for _, n := range []metric.Name{metric.FsyncHistogram, metric.CommitHistogram} {
			if of := bounds[noise.IntN(3)]; of != nil {
				s.Histograms[n] = metric.Buckets{Bounds: of, Counts: []float64{0, float64(i), float64(i)}[:len(of)]}
			}
		}
		want = append(want, s)
	}
	a := AnswersOf(want...)
	if diff := cmp.Diff(want[7:31], a.Unpacked(7, 31)); diff != "" {
		t.Errorf("unpacked answers (-want +got):\n%s", diff)
	}
	if !a.Reports(metric.Fsyncs) || !a.Reports(metric.CommitHistogram) || a.Reports(metric.DBBytes) {
		t.Error("fsyncs and histograms are reported, the size of the store is not")
	}
	slices.Reverse(want)
	a = AnswersOf(want...)
	a.Sort()
	slices.Reverse(want)
	if diff := cmp.Diff(want, a.Unpacked(0, a.Len())); diff != "" {
		t.Errorf("sorted answers (-want +got):\n%s", diff)
	}
}

// A randomly growing counter takes about two bytes per second over a day, and a constant one nearly
// nothing.
func TestColumnIsSmall(t *testing.T) {
	noise := rand.New(rand.NewPCG(3, 4))
	var counter, same Column
	total := 0.0
	for range 86_400 {
		total += float64(noise.IntN(2000))
		counter.Append(total)
		same.Append(8)
	}
	if n := len(counter.data); n > 2.5*86_400 {
		t.Errorf("a counter must take at most 2.5 bytes a second, got %d bytes", n)
	}
	if n := len(same.data); n > 20 {
		t.Errorf("a number that does not change must take next to nothing, got %d bytes", n)
	}
}
