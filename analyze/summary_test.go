package analyze

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

func TestSummary(t *testing.T) {
	golden(t, "two-summary.txt", tabulate(t, twoDatabases(t)).Summary())
}

// TestSummaryOfReads has the bytes of a load of reads, and what a rate adds.
func TestSummaryOfReads(t *testing.T) {
	f := newFixture(t, filepath.Join(t.TempDir(), "run"))
	f.rate = 500
	run := f.database("etcd", 2*time.Millisecond)
	run.Totals.BytesRead = 36 * run.Totals.OK
	c := &column{run: run, counts: counts(*run.Totals), reads: run.Totals.OK}
	if got := bytesPerResponse(c); got.Text != "36 B" || got.N != run.Totals.OK {
		t.Errorf("bytes per response are %+v", got)
	}
	if got := bytesPerResponse(&column{run: run}); got.Missing == "" || got.Text != "-" {
		t.Errorf("bytes per response without reads are %+v", got)
	}
	if n := okReads([]results.Interval{{Operation: "range", OK: 1}, {Operation: "swap", OK: 2}, {Operation: "update", OK: 4}, {Operation: "read", OK: 8, Failed: 16}}); n != 11 {
		t.Errorf("%d answers hold values, want 11", n)
	}
	run.Totals.BytesRead = 0 // the fixture is of writes
	got := tabulate(t, f.write()).Summary()
	for _, want := range []string{"ms from due to answered:", "[unsent]", "by class: throttled 59"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestBuckets: every value is in one bucket, edges grow, and the tail has a
// bucket of its own if there are enough values to know where it begins.
func TestBuckets(t *testing.T) {
	for _, tt := range []struct {
		name string
		n    int
		draw func() time.Duration
		want int
	}{
		{"none", 0, nil, 0},
		{"one", 1, func() time.Duration { return time.Millisecond }, 1},
		{"equal", 50_000, func() time.Duration { return 123_457 * time.Nanosecond }, 1},
		{"few", 9_999, func() time.Duration { return time.Duration(rand.Int64N(1e9)) }, mostBuckets},
		{"many", 20_000, func() time.Duration { return time.Duration(rand.ExpFloat64() * 1e6) }, mostBuckets},
		{"nanoseconds", 20_000, func() time.Duration { return time.Duration(rand.Int64N(3)) }, mostBuckets},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, l := results.NewHistogram(), results.Latency{}
			for range tt.n {
				d := tt.draw()
				l.Add(d)
				results.Record(h, d)
			}
			c := &column{latency: distributionOf(l, h), histogram: h}
			list := c.buckets()
			if len(list) != tt.want {
				t.Errorf("%d buckets, want %d", len(list), tt.want)
			}
			var sum int64
			for i, b := range list {
				sum += b.count
				if i > 0 && b.to <= list[i-1].to {
					t.Errorf("bucket %d ends at %v, the one before at %v", i, b.to, list[i-1].to)
				}
			}
			if sum != int64(tt.n) {
				t.Errorf("%d values in buckets, want %d", sum, tt.n)
			}
			if lines := drawBuckets(list); len(lines) != max(tt.want, 1) {
				t.Errorf("%d lines", len(lines))
			}
			if tt.name == "many" {
				if tail := list[mostBuckets-1].count; tail > 20 || tail < 10 {
					t.Errorf("%d of 20,000 are above p99.9", tail)
				}
			}
		})
	}
}
