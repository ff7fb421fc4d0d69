package workload

import (
	"math"
	"strings"
	"testing"
)

// mix64 is SplitMix64's finalizer, for draws that are the same in every run.
func mix64(z uint64) uint64 {
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// drawn counts the draws of each size.
func drawn(l *Load, n uint64) map[int]float64 {
	s := NewSizer(l)
	hits := map[int]float64{}
	for i := range n {
		hits[s.Size(mix64(i*0x9e3779b97f4a7c15+1))]++
	}
	return hits
}

// chiSquare fails the test if counts differ from the expected ones by more than chance: one
// correct law in a million would fail.
func chiSquare(t *testing.T, got, want []float64) {
	t.Helper()
	sum := 0.0
	for i := range want {
		sum += (got[i] - want[i]) * (got[i] - want[i]) / want[i]
	}
	free := float64(len(want) - 1)
	if limit := free + 4.75*math.Sqrt(2*free) + 16; sum > limit {
		t.Errorf("chi-square is %.0f over %d classes, want at most %.0f", sum, len(want), limit)
	}
}

// TestLognormal compares a million sizes with the law, in 40 classes, and its bounds,
// percentiles and mean with theory.
func TestLognormal(t *testing.T) {
	const n = 1_000_000
	l := &Load{Sizing: Sizing{ValueSize: 100, ValueSizeMax: 5000, Sizes: Sizes{Law: SizesLognormal, P50: 775, P99: 2800}}}
	sigma := math.Log(2800.0/775) / z99
	below := func(size float64) float64 { return math.Erfc((math.Log(775)-math.Log(size))/(sigma*math.Sqrt2)) / 2 }
	from, all := below(99.5), below(5000.5)-below(99.5)
	var got, want [40]float64
	edges := [41]float64{99.5}
	for i := 1; i < 40; i++ {
		edges[i] = math.Round(100*math.Pow(50, float64(i)/40)) + 0.5
	}
	edges[40] = 5000.5
	for i := range want {
		want[i] = n * (below(edges[i+1]) - below(edges[i])) / all
	}
	sum, smaller := 0.0, 0.0
	for size, hits := range drawn(l, n) {
		if size < 100 || size > 5000 {
			t.Fatalf("a size of %d is out of bounds", size)
		}
		for i := range got {
			if f := float64(size); f > edges[i] && f < edges[i+1] {
				got[i] += hits
			}
		}
		if size <= 775 {
			smaller += hits
		}
		sum += float64(size) * hits
	}
	chiSquare(t, got[:], want[:])
	if p := smaller / n; math.Abs(p-(below(775.5)-from)/all) > 0.002 {
		t.Errorf("%.4f of the sizes are at most the median of the law", p)
	}
	if mean := l.MeanValueSize(); math.Abs(mean-sum/n) > 0.002*mean {
		t.Errorf("the mean is given as %.1f, that of a million sizes is %.1f", mean, sum/n)
	}
}

// TestSizeHistogram: sizes are as frequent as their counts, and no other sizes occur.
func TestSizeHistogram(t *testing.T) {
	bins, err := ParseSizeBins("bytes,count\n16,1\n100, 50\r\n\n4096,49\n65536,900")
	if err != nil {
		t.Fatalf("parse a histogram: %v", err)
	}
	const n = 1_000_000
	l := &Load{Sizing: Sizing{ValueSize: 16, ValueSizeMax: 65536, Sizes: Sizes{Law: SizesHistogram, Bins: bins}}}
	hits := drawn(l, n)
	var got, want []float64
	for _, b := range bins {
		got, want = append(got, hits[b.Bytes]), append(want, n*float64(b.Count)/1000)
	}
	chiSquare(t, got, want)
	if len(hits) != len(bins) {
		t.Errorf("%d sizes were drawn of %d", len(hits), len(bins))
	}
	if mean, want := l.MeanValueSize(), (16+100*50+4096*49+65536*900)/1000.0; math.Abs(mean-want) > 1e-9 {
		t.Errorf("the mean is %v, want %v", mean, want)
	}
}

// TestUniformSizes: each size in a range is as frequent as the others.
func TestUniformSizes(t *testing.T) {
	const n = 100_000
	l := &Load{Sizing: Sizing{ValueSize: 20, ValueSizeMax: 39}}
	hits := drawn(l, n)
	var got, want []float64
	for size := 20; size < 40; size++ {
		got, want = append(got, hits[size]), append(want, n/20)
	}
	chiSquare(t, got, want)
	one := &Load{Sizing: Sizing{ValueSize: 8}}
	if fixed := drawn(one, 10); fixed[8] != 10 || l.MeanValueSize() != 29.5 || one.MeanValueSize() != 8 {
		t.Errorf("one size: %v, means %v and %v", fixed, l.MeanValueSize(), one.MeanValueSize())
	}
}

func TestSizeBinProblems(t *testing.T) {
	for text, want := range map[string]string{
		"":                "it has no sizes",
		"bytes,count\n":   "it has no sizes",
		"16,1\nx,2":       `line 2: want a size in bytes, a comma and a count, got "x,2"`,
		"16":              `line 1: want a size in bytes, a comma and a count, got "16"`,
		"16,0":            "line 1: a size must not be negative, and a count must be from 1",
		"-1,3":            "line 1: a size must not be negative",
		"16,1\n16,1":      "line 2: sizes must ascend, got 16 after 16",
		"a,b\n9,1\n\n8,1": "line 4: sizes must ascend, got 8 after 9",
	} {
		if _, err := ParseSizeBins(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
