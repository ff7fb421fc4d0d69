package histogram

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

var epoch = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func BenchmarkLogWrite(b *testing.B) {
	w, err := NewLogWriter(filepath.Join(b.TempDir(), "latency.hlog"), epoch)
	if err != nil {
		b.Fatalf("make the latency log: %v", err)
	}
	h := New()
	random := rand.New(rand.NewPCG(1, 2))
	for range 30_000 {
		Record(h, time.Duration(random.ExpFloat64()*float64(5*time.Millisecond)))
	}
	for b.Loop() {
		if err := w.Write(epoch, time.Second, "response:write:ok:step0:measure", h); err != nil {
			b.Fatalf("write: %v", err)
		}
	}
	b.ReportMetric(float64(w.lines.Size())/float64(b.N), "bytes/line")
}

// TestEncodeAsLibrary: the encoder writes the same bytes as the library, for any counts and
// digits, and whatever it wrote before.
func TestEncodeAsLibrary(t *testing.T) {
	e := newEncoder()
	rapid.Check(t, func(t *rapid.T) {
		h := hdrhistogram.New(1, int64(MaxLatency), rapid.IntRange(1, maxDigits).Draw(t, "digits"))
		for range rapid.IntRange(1, 200).Draw(t, "values") {
			value := rapid.OneOf(rapid.Int64Range(0, 5000), rapid.Int64Range(0, int64(MaxLatency))).Draw(t, "value")
			if err := h.RecordValues(value, rapid.OneOf(rapid.Int64Range(1, 3), rapid.Int64Range(1, 1<<40)).Draw(t, "count")); err != nil {
				t.Fatalf("record the values: %v", err)
			}
		}
		want, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatalf("encode the histogram: %v", err)
		}
		got, err := e.append(nil, h)
		if err != nil || string(got) != string(want) {
			t.Fatalf("encoded as %s, %v; the library encodes as %s", got, err, want)
		}
	})
}

// TestEncodeKeepsItsMemory: a line leaves no garbage that would grow the heap in a long load.
func TestEncodeKeepsItsMemory(t *testing.T) {
	h := New()
	for i := range int64(10_000) {
		Record(h, time.Duration(i*i))
	}
	e := newEncoder()
	var b []byte
	line := func() {
		var err error
		if b, err = e.append(b[:0], h); err != nil {
			t.Fatalf("encode the histogram: %v", err)
		}
	}
	line()
	if n := testing.AllocsPerRun(10, line); n > 8 {
		t.Errorf("a line allocates %v times", n)
	}
}

func TestEncodeOtherShape(t *testing.T) {
	if _, err := newEncoder().append(nil, hdrhistogram.New(1, 1000, 2)); err == nil {
		t.Error("a histogram of another shape was encoded")
	}
}

// A log has the same line for a histogram, for a packed one and for their buckets.
func TestLinesOfAllKinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, packed := New(), Packed()
		var sum Sum
		for _, value := range rapid.SliceOf(rapid.OneOf(rapid.Int64Range(0, 5000), rapid.Int64Range(0, int64(MaxLatency)))).Draw(t, "values") {
			Record(h, time.Duration(value))
			_ = packed.RecordValue(value) // in range
			sum.Record(value)
		}
		dir, err := os.MkdirTemp("", "lines")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		line := func(write func(*LogWriter) error) string {
			path := filepath.Join(dir, "latency.hlog")
			defer os.Remove(path)
			w, err := NewLogWriter(path, epoch)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(write(w), w.Close()); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		want := line(func(w *LogWriter) error { return w.Write(epoch, time.Second, "a", h) })
		if got := line(func(w *LogWriter) error { return w.WritePacked(epoch, time.Second, "a", packed) }); got != want {
			t.Errorf("of a packed histogram:\n%swant\n%s", got, want)
		}
		if got := line(func(w *LogWriter) error { return w.WriteBuckets(epoch, time.Second, "a", sum.Buckets()) }); got != want {
			t.Errorf("of buckets:\n%swant\n%s", got, want)
		}
		if taken := sum.Take(); !slices.Equal(taken, BucketsOf(h)) || sum.Buckets() != nil {
			t.Errorf("the sum is %v and leaves %v, want %v and nothing", taken, sum.Buckets(), BucketsOf(h))
		}
	})
}
