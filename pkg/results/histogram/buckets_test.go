package histogram

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// writeOther appends a histogram of any shape, encoded by the library.
func (w *LogWriter) writeOther(at time.Time, length time.Duration, tag string, h *hdrhistogram.Histogram) error {
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return err
	}
	return w.lines.Append(append(append(appendLine(nil, at, length, tag, h), encoded...), '\n'))
}

// manyShapes writes a log with histograms in our shape and in others.
func manyShapes(t testing.TB) string {
	path := filepath.Join(t.TempDir(), "latency.hlog")
	start := time.Unix(1_800_000_000, 0)
	w, err := NewLogWriter(path, start)
	if err != nil {
		t.Fatalf("open the log: %v", err)
	}
	defer w.Close()
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range 50 {
		h, write := New(), w.Write
		switch i % 5 {
		case 3:
			h, write = hdrhistogram.New(1, 1<<40, 2), w.writeOther
		case 4:
			h, write = hdrhistogram.New(1000, 1<<45, 3), w.writeOther
		}
		for range noise.IntN(500) + 1 {
			// The only error in the library is for values over the maximum.
			_ = h.RecordValues(noise.Int64N(1<<(10+noise.IntN(30))), 1+noise.Int64N(1<<noise.IntN(20)))
		}
		_ = h.RecordValue(int64(MaxLatency))
		_ = h.RecordValue(0)
		if err := write(start.Add(time.Duration(i)*time.Second), time.Second, "a:b", h); err != nil {
			t.Fatalf("write: %v", err)
		}
	}
	return path
}

// Both log readers give the same histograms.
func TestBucketsAreTheHistogram(t *testing.T) {
	slowtest.Skip(t)
	path := manyShapes(t)
	var lines []LogLine
	for l, err := range ReadLog(path) {
		if err != nil {
			t.Fatalf("read the log: %v", err)
		}
		lines = append(lines, l)
	}
	n := 0
	for l, err := range ReadBuckets(path) {
		if err != nil {
			t.Fatalf("read the buckets: %v", err)
		}
		want := lines[n]
		if l.Tag != want.Tag || !l.Start.Equal(want.Start) || l.Length != want.Length || l.Buckets.Total() != want.Histogram.TotalCount() {
			t.Fatalf("line %d is %v %v with %d values, want %v %v with %d", n, l.Start, l.Length, l.Buckets.Total(), want.Start, want.Length, want.Histogram.TotalCount())
		}
		got, merged := New(), New()
		if dropped, want := l.Buckets.AddTo(got), merged.Merge(want.Histogram); dropped != want || !got.Equals(merged) {
			t.Fatalf("line %d: the buckets are another histogram (%d dropped, want %d)", n, dropped, want)
		}
		if b := BucketsOf(got); b.Min() != got.Min() || b.Max() != got.Max() {
			t.Fatalf("line %d: from %d to %d, want %d to %d", n, b.Min(), b.Max(), got.Min(), got.Max())
		}
		for _, q := range []float64{.001, .1, .5, .9, .99, .999, 1} {
			if v, want := BucketsOf(got).Quantile(q), Quantile(got, q); v != want {
				t.Fatalf("line %d: quantile %v is %d, want %d", n, q, v, want)
			}
		}
		if b := BucketsOf(got); !slices.Equal(b.Pack().Buckets(), b) {
			t.Fatalf("line %d: packed buckets are others", n)
		}
		var sum Sum
		for range 2 {
			sum.Add(BucketsOf(got))
			if b := sum.Take(); !slices.Equal(b, BucketsOf(got)) {
				t.Fatalf("line %d: the sum is %v, want %v", n, b, BucketsOf(got))
			}
		}
		n++
	}
	if n != len(lines) || n != 50 {
		t.Errorf("want %d lines, got %d", len(lines), n)
	}
}

// Broken histograms have the same error from both readers.
func TestBucketsOfBrokenLines(t *testing.T) {
	good, err := os.ReadFile(manyShapes(t))
	if err != nil {
		t.Fatalf("read the log: %v", err)
	}
	line := strings.Split(string(good), "\n")[4]
	noise := rand.New(rand.NewPCG(3, 4))
	path := filepath.Join(t.TempDir(), "broken.hlog")
	for i := range 500 {
		b := []byte(line)
		switch {
		case i%3 == 0:
			b = b[:noise.IntN(len(b))]
		default:
			b[noise.IntN(len(b))] = "ABCxyz019+/=,."[noise.IntN(14)]
		}
		if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
			t.Fatalf("write: %v", err)
		}
		var first, second string
		var total, counted int64
		for l, err := range ReadLog(path) {
			if first = textOf(err); err == nil {
				total = l.Histogram.TotalCount()
			}
		}
		for l, err := range ReadBuckets(path) {
			if second = textOf(err); err == nil {
				counted = l.Buckets.Total()
			}
		}
		if first != second || total != counted {
			t.Fatalf("%q: want %q and %d values, got %q and %d", b, first, total, second, counted)
		}
	}
}

func textOf(err error) string {
	var problem *linefile.SyntaxError
	if errors.As(err, &problem) || err == nil {
		if err == nil {
			return ""
		}
		return problem.Error()
	}
	return err.Error()
}

// Reading leaves almost no garbage, however long the log is.
func TestBucketsAllocateLittle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "latency.hlog")
	w, err := NewLogWriter(path, time.Unix(1_800_000_000, 0))
	if err != nil {
		t.Fatalf("open the log: %v", err)
	}
	h := New()
	for i := range 300 {
		Record(h, time.Duration(i)*time.Millisecond)
	}
	const lines = 200
	for i := range lines {
		if err := w.Write(time.Unix(1_800_000_000+int64(i), 0), time.Second, "a", h); err != nil {
			t.Fatalf("write: %v", err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	var tags []string
	read := func() {
		for l, err := range ReadBuckets(path) {
			if err != nil {
				t.Fatalf("read: %v", err)
			}
			tags = append(tags[:0], l.Tag)
		}
	}
	if got := testing.AllocsPerRun(3, read); got > 12*lines {
		t.Errorf("want at most 12 allocations for a line, got %v", got/lines)
	}
	if !slices.Equal(tags, []string{"a"}) {
		t.Errorf("want the tag, got %q", tags)
	}
}
