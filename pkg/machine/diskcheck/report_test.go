package diskcheck

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// reportOf returns a report on n times, all alike except the p99.
func reportOf(filesystem string, n int64, p50, p99 time.Duration) *Report {
	times := Times{N: n, P50: p50, P99: p99, P999: p99, Longest: 1200 * time.Millisecond}
	disk := results.Disk{Filesystem: filesystem, Device: "sda", Queue: "rotational"}
	return NewReport(NewPlace("/data", disk), 30*time.Second, Result{Appends: n, Bytes: 6000 * n, Busy: 10 * time.Second, Sync: times, Both: times})
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		filesystem string
		p99        time.Duration
		want       Verdict
	}{
		{"ext4", 10*time.Millisecond - 1, Meets},
		{"ext4", 10 * time.Millisecond, DoesNotMeet},
		{"", time.Second, DoesNotMeet},
		{"overlay", time.Millisecond, Meets},
		{"tmpfs", time.Microsecond, NoDisk},
		{"ramfs", time.Second, NoDisk},
	} {
		if got := reportOf(tc.filesystem, 2000, time.Millisecond, tc.p99).Verdict; got != tc.want {
			t.Errorf("%v on %q: %s, want %s", tc.p99, tc.filesystem, got, tc.want)
		}
	}
}

// Too few samples are named with the verdict and beside the numbers.
func TestFew(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64][]string{
		19:     {"p50", "p99", "p99.9"},
		20:     {"p99", "p99.9"},
		999:    {"p99", "p99.9"},
		1000:   {"p99.9"},
		10_000: nil,
	} {
		r := reportOf("ext4", n, time.Millisecond, 2*time.Millisecond)
		if !slices.Equal(r.Few, want) {
			t.Errorf("%d samples are few for %v, want %v", n, r.Few, want)
		}
		if got, want := strings.Contains(r.Sentence(), "too few for a p99)"), n < 1000; got != want {
			t.Errorf("%d samples: %s", n, r.Sentence())
		}
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := reportOf("ext4", 2000, 400*time.Microsecond, 12300*time.Microsecond).Print(&b); err != nil {
		t.Fatalf("print: %v", err)
	}
	want := `disk of /data: ext4, sda, rotational
appends of 2 to 10 KiB to a file with 64 MiB allocated, one after the other, fdatasync after each, for 30s

                          n       p50      p99          p99.9  longest
             fdatasync  2,000  0.400 ms  12.3 ms  12.3 ms (few)   1.20 s
  append and fdatasync  2,000  0.400 ms  12.3 ms  12.3 ms (few)   1.20 s
few: fewer than ten samples are above the percentile; p99 needs 1,000 samples, p99.9 10,000
200 syncs/s, 1.2 MB/s (12 MB in 10.00 s of appends and syncs)

verdict: does not meet etcd's guidance: the p99 of fdatasync is 12.3 ms (2,000 samples) and must be below 10.0 ms
guidance: https://etcd.io/docs/v3.6/faq/
`
	if got := squeeze(b.String()); got != squeeze(want) {
		t.Errorf("printed\n%s\nwant\n%s", got, squeeze(want))
	}
	line := reportOf("ext4", 2000, 400*time.Microsecond, 12300*time.Microsecond).Line()
	if want := "2 to 10 KiB and fdatasync: fdatasync p50 0.400 ms, p99 12.3 ms, p99.9 12.3 ms (few), longest 1.20 s of 2,000 in 10.00 s, 200/s"; line != want {
		t.Errorf("line\n%s\nwant\n%s", line, want)
	}
}

// squeeze replaces each run of spaces by one space: widths are up to the table writer.
func squeeze(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

// Data in memory is not durable.
func TestWarning(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	r := reportOf("ext4", 2000, 10*time.Microsecond, time.Millisecond)
	if err := r.Print(&b); err != nil || !strings.Contains(b.String(), "warning: the p50 of fdatasync is 10.00 us, less than any disk needs") {
		t.Errorf("no warning (%v):\n%s", err, b.String())
	}
	if r := reportOf("ext4", 2000, results.FastestFsync, time.Millisecond); r.Warning != "" {
		t.Errorf("warning %q of a disk", r.Warning)
	}
}
