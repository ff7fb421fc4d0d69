package figure

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func pointer(v float64) *float64 { return &v }

// shown are the labels on ticks between the ends.
func shown(s scale) []string {
	var texts []string
	for _, t := range s.ticks {
		if s.inside(t.value) && !t.fine {
			texts = append(texts, t.label)
		}
	}
	return texts
}

func TestTicks(t *testing.T) {
	bytes := Axis{Unit: "bytes"}
	for _, test := range []struct {
		name  string
		scale scale
		want  []string
	}{
		{"throughput", valueScale(Axis{}, []float64{12_000, 47_000}, 6), []string{"0", "10k", "20k", "30k", "40k", "50k"}},
		{"below ten thousand", valueScale(Axis{}, []float64{7_200}, 6), []string{"0", "2,000", "4,000", "6,000", "8,000"}},
		{"fractions", valueScale(Axis{}, []float64{0.31}, 6), []string{"0", "0.1", "0.2", "0.3", "0.4"}},
		{"negative", valueScale(Axis{}, []float64{-20, 5}, 6), []string{"-20", "-15", "-10", "-5", "0", "5", "10"}},
		{"bytes", valueScale(bytes, []float64{300e6}, 6), []string{"0", "50 MB", "100 MB", "150 MB", "200 MB", "250 MB", "300 MB", "350 MB"}},
		{"all zero", valueScale(Axis{}, []float64{0, 0}, 6), []string{"0", "0.2", "0.4", "0.6", "0.8", "1"}},
		{"no values", valueScale(Axis{}, nil, 6), []string{"0", "0.2", "0.4", "0.6", "0.8", "1"}},
		{"fixed", valueScale(Axis{Min: pointer(50), Max: pointer(60)}, []float64{1, 1000}, 6), []string{"50", "52", "54", "56", "58", "60"}},
		{"a minute", rangeScale(Axis{Unit: "s"}, []float64{0, 59}, 9), []string{"0", "10", "20", "30", "40", "50", "60"}},
		{"an hour", rangeScale(Axis{Unit: "s"}, []float64{1, 3600}, 9), []string{"0", "600", "1,200", "1,800", "2,400", "3,000", "3,600"}},
		{"one x", rangeScale(Axis{}, []float64{5, 5}, 9), []string{"5"}},
		{"keys", rangeScale(Axis{}, []float64{1000, 3e6}, 6), []string{"0", "500k", "1M", "1.5M", "2M", "2.5M", "3M"}},
		{"log", valueScale(Axis{Log: true}, []float64{3, 40_000}, 6), []string{"10", "100", "1k", "10k"}},
		{"log of two decades", valueScale(Axis{Log: true}, []float64{6, 180}, 6), []string{"5", "10", "20", "50", "100", "200"}},
		{"log constant", valueScale(Axis{Log: true}, []float64{7, 7}, 6), []string{"5", "10"}},
		{"log without values", valueScale(Axis{Log: true}, []float64{0, -1}, 6), []string{"1", "2", "5", "10"}},
		{"log bytes", valueScale(Axis{Log: true, Unit: "bytes"}, []float64{1000, 5e9}, 6), []string{"1 kB", "10 kB", "100 kB", "1 MB", "10 MB", "100 MB", "1 GB", "10 GB"}},
		{"clients", pointScale(Axis{Log: true}, []float64{1, 10, 100, 10}, 9), []string{"1", "10", "100"}},
		{"percentiles", percentileScale(Axis{}, []float64{0, 50, 99.99}), []string{"0%", "50%", "90%", "99%", "99.9%", "99.99%"}},
		{"few percentiles", percentileScale(Axis{}, []float64{50, 90}), []string{"0%", "50%", "90%", "99%"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, shown(test.scale)); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPercentilesGiveEveryNineTheSameRoom(t *testing.T) {
	s := percentileScale(Axis{}, []float64{99.999})
	for i, v := range []float64{0, 90, 99, 99.9, 99.99, 99.999} {
		if got, want := s.at(v), float64(i)/5; math.Abs(got-want) > 1e-9 {
			t.Errorf("%v stands at %v, want %v", v, got, want)
		}
	}
	if s.has(100) {
		t.Error("100 has a place")
	}
}

func TestValueText(t *testing.T) {
	for _, test := range []struct {
		v    float64
		unit string
		want string
	}{
		{0, "", "0"}, {7, "", "7"}, {0.12345, "ms", "0.123"}, {999.6, "", "1000"}, {1234.4, "", "1,234"},
		{9999, "", "9,999"}, {12345, "", "12.3k"}, {999_999, "", "1.00M"}, {2e6, "", "2M"}, {-12345, "", "-12.3k"},
		{0, "bytes", "0"}, {512, "bytes", "512 B"}, {1536, "bytes", "1.54 kB"}, {1e9, "bytes", "1 GB"},
		{999_999, "bytes", "1.00 MB"}, {3e6, "bytes/s", "3 MB/s"}, {1.5e-7, "", "1.5e-7"}, {1e24, "", "1e24"},
	} {
		if got := valueText(test.v, test.unit); got != test.want {
			t.Errorf("valueText(%v, %q) = %q, want %q", test.v, test.unit, got, test.want)
		}
	}
}

// All points in a sweep over clients have a label, including the last one, although some lie so
// close that their labels are in a second row.
func TestNoTickIsLost(t *testing.T) {
	x := []float64{1, 10, 50, 100, 300, 500, 700, 1000}
	f := Figure{
		Name: "CLIENTS", Kind: Points, X: Axis{Label: "Concurrent clients", Log: true}, Y: Axis{Label: "Throughput", Unit: "requests/s"},
		Series: []Series{{Name: "etcd", X: x, Y: x}},
	}
	var b bytes.Buffer
	if err := SVG(&b, f); err != nil {
		t.Fatalf("draw the figure: %v", err)
	}
	p := layout(f)
	rows, used := p.plot.tickRows(p.plot.x)
	if len(rows) != len(x) || slices.Contains(rows, -1) || used != 2 {
		t.Errorf("labels in the rows %v of %d, want all %d in two", rows, used, len(x))
	}
	for i, a := range p.plot.x.ticks {
		for j, other := range p.plot.x.ticks[:i] {
			apart := p.plot.horizontal(a.value) - p.plot.horizontal(other.value)
			if rows[i] == rows[j] && apart < (tickType.width(a.label)+tickType.width(other.label))/2 {
				t.Errorf("the labels %q and %q touch", other.label, a.label)
			}
		}
	}
	// On an axis with too many ticks for two rows, the last still has its label.
	crowd := p.plot
	crowd.right = crowd.left + 40
	if rows, _ := crowd.tickRows(crowd.x); rows[len(rows)-1] != 0 {
		t.Errorf("the last tick is in row %d of %v", rows[len(rows)-1], rows)
	}
}

// Points at measured values have round ticks, not 2,753.22 requests/s.
func TestMeasuredPointsHaveRoundTicks(t *testing.T) {
	for _, tick := range pointScale(Axis{Min: pointer(0)}, []float64{300, 2753.22}, 7).ticks {
		if math.Mod(tick.value, 100) != 0 {
			t.Errorf("tick %q at %v", tick.label, tick.value)
		}
	}
}
