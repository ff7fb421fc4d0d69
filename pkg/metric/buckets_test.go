package metric

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func buckets(t *testing.T, text string) Buckets {
	t.Helper()
	b, err := ParseBuckets(text)
	if err != nil {
		t.Fatalf("parse %q: %v", text, err)
	}
	return b
}

func TestBuckets(t *testing.T) {
	first, later := buckets(t, "0.001=1 0.01=3 +Inf=4"), buckets(t, "0.001=51 0.01=101 +Inf=104")
	grown, ok := later.Since(first)
	if want := buckets(t, "0.001=50 0.01=98 +Inf=100"); !ok || !cmp.Equal(grown, want) {
		t.Errorf("between both were %v, got %v, %t", want, grown, ok)
	}
	if back, ok := grown.Plus(first); !ok || !cmp.Equal(back, later) {
		t.Errorf("the first and what grew must be %v, got %v, %t", later, back, ok)
	}
	if same, ok := (Buckets{}).Plus(first); !ok || !cmp.Equal(same, first) {
		t.Errorf("nothing more must be %v, got %v, %t", first, same, ok)
	}
	if _, ok := first.Plus(buckets(t, "1=1 +Inf=1")); ok {
		t.Error("histograms of different bounds have no sum")
	}
	if got := string(later.AppendText(nil)); got != "0.001=51 0.01=101 +Inf=104" {
		t.Errorf("a histogram must be written as it was read, got %q", got)
	}
	if _, ok := first.Since(later); ok {
		t.Error("counts that fell must have no growth: the member started again")
	}
	for _, other := range []string{"", "0.002=1 0.01=3 +Inf=4", "0.001=1 +Inf=4"} {
		if _, ok := later.Since(buckets(t, other)); ok {
			t.Errorf("there must be no growth since other bounds, %q", other)
		}
	}
	for q, want := range map[float64][2]float64{
		.5: {0, .001}, .51: {.001, .01}, .98: {.001, .01}, .99: {.01, math.Inf(1)}, 1: {.01, math.Inf(1)}, 1e-9: {0, .001},
	} {
		if low, high, known := grown.Quantile(q); !known || low != want[0] || high != want[1] {
			t.Errorf("the quantile %g must be from %g to %g, got %g, %g, %t", q, want[0], want[1], low, high, known)
		}
	}
	if _, _, known := buckets(t, "1=0 +Inf=0").Quantile(.5); known {
		t.Error("a histogram of nothing must have no quantile")
	}
	if _, _, known := (Buckets{}).Quantile(.5); known || (Buckets{}).Known() {
		t.Error("the zero histogram must be unknown")
	}
}

func TestParseBucketsRefuses(t *testing.T) {
	for _, text := range []string{"1", "1=", "=1", "x=1", "1=x", "1=1", "1=2 +Inf=1", "2=1 1=1 +Inf=1", "1=1 1=1 +Inf=1", "NaN=1 +Inf=1", "1=NaN +Inf=1", "1=-1 +Inf=1", "-1=1 +Inf=1", "1=1 +Inf=Inf"} {
		if b, err := ParseBuckets(text); err == nil {
			t.Errorf("%q must be refused, got %v", text, b)
		}
	}
}

// FuzzParseBuckets parses the texts it writes.
func FuzzParseBuckets(f *testing.F) {
	f.Add("0.001=1 0.01=3 +Inf=4")
	f.Add("1e-300=0 0x1p5=1 +Inf=1e300")
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBuckets(text)
		if err != nil {
			return
		}
		if again, err := ParseBuckets(string(b.AppendText(nil))); err != nil || !cmp.Equal(again, b) {
			t.Errorf("%q must be read back, got %v, want %v (%v)", text, again, b, err)
		}
		if low, high, known := b.Quantile(.99); known && !(low <= high) {
			t.Errorf("a quantile of %q must lie between its bounds, got %g and %g", text, low, high)
		}
	})
}

// A reader reads each of many histograms independently of the previous ones.
func TestBucketsReader(t *testing.T) {
	texts := []string{"", "1=1 2=2 +Inf=3", "1=2 2=2 +Inf=9", "1=2 3=2 +Inf=9", "1=2 +Inf=9", "1=2  +Inf=9", "1=2 +Inf=9 ", "1=3 2=2 +Inf=3", "1=x 2=2 +Inf=3", "1=-1 2=2 +Inf=3", "10=1 +Inf=3"}
	var r BucketsReader
	for _, first := range texts {
		for _, text := range texts {
			_, _ = r.Parse(first)
			got, err := r.Parse(text)
			want, wantErr := ParseBuckets(text)
			if (err == nil) != (wantErr == nil) || !cmp.Equal(got, want) {
				t.Errorf("%q after %q must be %v (%v), got %v (%v)", text, first, want, wantErr, got, err)
			}
		}
	}
}
