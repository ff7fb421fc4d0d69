package page

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/coreos/dbtester/analyze/figure"
)

// textOf is a line as JSON.
func textOf(t *testing.T, l Line) string {
	t.Helper()
	b, err := LiveData(nil, figure.Figure{Series: []figure.Series{{}}}, []Line{l})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// dotsOf are the points on a line as the script reads them; a gap is nil.
func dotsOf(t *testing.T, l Line) (xs []float64, ys []*float64) {
	t.Helper()
	b := textOf(t, l)
	var f struct {
		Xs [][]float64
		Ys [][]*float64
	}
	if err := json.Unmarshal([]byte(b), &f); err != nil || len(f.Xs) != 1 || len(f.Ys) != 1 || len(f.Xs[0]) != len(f.Ys[0]) {
		t.Fatalf("the line is %s, %v", b, err)
	}
	return f.Xs[0], f.Ys[0]
}

// A short line has all its points; a long one the lowest and the highest, in parts that are at most
// twice as wide as the parts on the page at its end.
func TestLine(t *testing.T) {
	var l Line
	if !l.Empty() {
		t.Error("a line without points is not empty")
	}
	random := rand.New(rand.NewPCG(1, 2))
	low, high := math.Inf(1), math.Inf(-1)
	var copied Line
	var text string // in the copy
	for i := range 50_000 {
		y := float64(random.IntN(1000))
		if i == 20_001 {
			y = 5000 // a spike that lasts one second
		}
		if i%7 == 3 {
			y = math.NaN()
		} else {
			low, high = min(low, y), max(high, y)
		}
		l.Add(float64(i), y)
		xs, ys := dotsOfSome(t, i, l)
		if xs == nil {
			continue
		}
		if i < 2*liveBins && len(xs) != i+1 {
			t.Fatalf("after %d points the line has %d", i+1, len(xs))
		}
		if len(xs) > 4*liveBins || i > 3*liveBins && len(xs) < liveBins/2 {
			t.Fatalf("after %d points the line has %d", i+1, len(xs))
		}
		least, most, last := math.Inf(1), math.Inf(-1), -1.0
		for n, x := range xs {
			if x <= last {
				t.Fatalf("after %d points, x is %v after %v", i+1, x, last)
			}
			if i > 3*liveBins && x-last > 2*float64(i)/(liveBins/2)+8 {
				t.Fatalf("after %d points, no point is between %v and %v", i+1, last, x)
			}
			last = x
			if ys[n] != nil {
				least, most = min(least, *ys[n]), max(most, *ys[n])
			}
		}
		if least != low || most != high {
			t.Fatalf("after %d points the line is from %v to %v, want %v to %v", i+1, least, most, low, high)
		}
		if got := textOf(t, copied); text != "" && got != text {
			t.Fatalf("after %d points, an earlier copy of the line changed from\n%s to\n%s", i+1, text, got)
		}
		copied, text = l, textOf(t, l)
	}
}

// dotsOfSome are the points on a line after some added points, to be fast.
func dotsOfSome(t *testing.T, i int, l Line) (xs []float64, ys []*float64) {
	t.Helper()
	if i >= 10 && i%97 != 0 && i != 2*liveBins && i != 2*liveBins+1 {
		return nil, nil
	}
	return dotsOf(t, l)
}

// Points at the same place, and places that do not grow, do no harm.
func TestLineWithoutLength(t *testing.T) {
	var l Line
	for i := range 10 * liveBins {
		l.Add(5, float64(i))
	}
	if xs, _ := dotsOf(t, l); len(xs) > 4*liveBins {
		t.Errorf("the line has %d points", len(xs))
	}
}
