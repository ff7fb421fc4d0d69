package results

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

func TestSeriesTag(t *testing.T) {
	want := Series{TimingResponse, "read-oneshot", workload.Unknown, 12, PhaseWarmUp}
	if got := want.Tag(); got != "response:read-oneshot:unknown:step12:warm-up" {
		t.Errorf("tag %q", got)
	}
	got, err := ParseSeries(want.Tag())
	check(t, err)
	diff(t, "series", want, got)
	for _, tag := range []string{"", "a:b", "late:write:ok:step0:measure", "service:write:good:step0:measure",
		"service:write:ok:0:measure", "service:write:ok:step-1:measure", "service:write:ok:step0:measure:more"} {
		if s, err := ParseSeries(tag); err == nil {
			t.Errorf("tag %q became %+v", tag, s)
		}
	}
}

// writeLatencies writes a log with random latencies, one line per second and series, and its
// totals, as a load does.
func writeLatencies(t *testing.T, dir string) map[Series]*hdrhistogram.Histogram {
	t.Helper()
	lines, err := histogram.NewLogWriter(filepath.Join(dir, FileLatency), epoch)
	check(t, err)
	totals, err := histogram.NewLogWriter(filepath.Join(dir, FileTotal), epoch)
	check(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	sums := map[Series]*hdrhistogram.Histogram{}
	for second := range 6 {
		for _, s := range []Series{
			{TimingResponse, "write", workload.OK, second / 3, PhaseMeasure},
			{TimingService, "write", workload.OK, second / 3, PhaseMeasure},
		} {
			h := histogram.New()
			for range 100 {
				d := time.Duration(random.ExpFloat64() * float64(50*time.Millisecond))
				histogram.Record(h, d)
				if sums[s] == nil {
					sums[s] = histogram.New()
				}
				histogram.Record(sums[s], d)
			}
			check(t, lines.Write(epoch.Add(time.Duration(second)*time.Second), time.Second, s.Tag(), h))
		}
	}
	for s, h := range sums {
		check(t, totals.Write(epoch, 6*time.Second, s.Tag(), h))
	}
	check(t, lines.Close())
	check(t, totals.Close())
	return sums
}

func TestLatencyLinesSumToTotals(t *testing.T) {
	dir := t.TempDir()
	want := writeLatencies(t, dir)
	check(t, ReconcileLatency(dir))
	got, err := ReadTotals(filepath.Join(dir, FileTotal))
	check(t, err)
	if len(got) != len(want) {
		t.Errorf("%d series of %d", len(got), len(want))
	}
	for s, h := range want {
		if !h.Equals(got[s]) {
			t.Errorf("%s was not read as it was written", s.Tag())
		}
	}

	// One further latency in one bucket is found, and its series named.
	w, err := histogram.NewLogWriter(filepath.Join(dir, FileLatency), epoch)
	check(t, err)
	h := histogram.New()
	histogram.Record(h, time.Second)
	check(t, w.Write(epoch, time.Second, Series{TimingService, "write", workload.OK, 1, PhaseMeasure}.Tag(), h))
	check(t, w.Close())
	err = ReconcileLatency(dir)
	if err == nil || !strings.Contains(err.Error(), "service:write:ok:step1:measure") || !strings.Contains(err.Error(), "301") ||
		strings.Contains(err.Error(), "step0") {
		t.Errorf("reconcile: %v", err)
	}
}

// The log is a standard one: the reader in the library gives the same lines.
func TestStandardReaderReadsTheLog(t *testing.T) {
	dir := t.TempDir()
	writeLatencies(t, dir)
	path := filepath.Join(dir, FileLatency)
	f, err := os.Open(path)
	check(t, err)
	defer f.Close()
	standard := hdrhistogram.NewHistogramLogReader(f)
	n := 0
	for l, err := range histogram.ReadLog(path) {
		check(t, err)
		h, err := standard.NextIntervalHistogram()
		check(t, err)
		if !h.Equals(l.Histogram) || h.Tag() != l.Tag || h.StartTimeMs() != l.Start.UnixMilli() ||
			h.EndTimeMs() != l.Start.Add(l.Length).UnixMilli() {
			t.Fatalf("line %d: %s %d %d, the standard reader says %s %d %d", n, l.Tag, l.Start.UnixMilli(), l.Length, h.Tag(), h.StartTimeMs(), h.EndTimeMs())
		}
		if want := epoch.Add(time.Duration(n/2) * time.Second); !l.Start.Equal(want) || l.Length != time.Second {
			t.Fatalf("line %d begins at %v and lasts %v", n, l.Start, l.Length)
		}
		n++
	}
	if n != 12 {
		t.Errorf("%d lines", n)
	}
	if h, err := standard.NextIntervalHistogram(); h != nil || err != nil {
		t.Errorf("the standard reader has more: %v", err)
	}
}

func TestLatencyLogText(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileLatency)
	w, err := histogram.NewLogWriter(path, epoch.Add(250*time.Millisecond))
	check(t, err)
	h := histogram.New()
	check(t, w.Write(epoch, time.Second, "empty", h))
	histogram.Record(h, 2*time.Millisecond)
	check(t, w.Write(epoch, 1500*time.Millisecond, "", h))
	for _, tag := range []string{"a,b", "a b", "a=b", "a\nb"} {
		if err := w.Write(epoch, time.Second, tag, h); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("tag %q: %v", tag, err)
		}
	}
	check(t, w.Close())
	lines := strings.Split(strings.TrimSpace(mustRead(t, path)), "\n")
	if len(lines) != 5 {
		t.Fatalf("lines: %q", lines)
	}
	diff(t, "header", []string{"#[Histogram log format version 1.3]",
		"#[dbtester: values in nanoseconds, Interval_Max in milliseconds, Tag=TIMING:OPERATION:OUTCOME:stepN:PHASE]",
		"#[StartTime: 1795248000.000 (seconds since epoch), 2026-11-21T08:00:00Z]",
		`"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"`}, lines[:4])
	if !strings.HasPrefix(lines[4], "1795248000.000,1.500,2.001,HISTF") {
		t.Errorf("line: %s", lines[4])
	}
}

func TestReadLatencyBroken(t *testing.T) {
	dir := t.TempDir()
	writeLatencies(t, dir)
	whole := mustRead(t, filepath.Join(dir, FileLatency))
	path := mustWrite(t, filepath.Join(dir, "cut.hlog"), whole[:len(whole)-10])
	n, last := 0, error(nil)
	for _, err := range histogram.ReadLog(path) {
		n, last = n+1, err
	}
	if n != 12 || !errors.Is(last, ErrTruncated) {
		t.Errorf("cut: %d pairs, then %v", n, last)
	}
	totals, err := ReadTotals(path)
	if len(totals) != 4 || !errors.Is(err, ErrTruncated) {
		t.Errorf("cut: %d totals and %v", len(totals), err)
	}
	for line, want := range map[string]string{
		"Tag=x,1,2,3":            ":3: 3 fields instead of 4",
		"Tag=x,now,2,3,HISTF":    `:3: StartTimestamp: "now" is not a number`,
		"1,long,3,HISTF":         `:3: Interval_Length: "long" is not a number`,
		"Tag=x,1,2,3,HISTFwrong": ":3: Interval_Compressed_Histogram: ",
	} {
		mustWrite(t, path, "#[StartTime: 1 (seconds since epoch)]\n# a comment\n"+line+"\n")
		for _, err := range histogram.ReadLog(path) {
			if err == nil || !strings.HasPrefix(err.Error(), path+want) {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
}

// A killed run has lines but not yet a total for its last step.
func TestTotalHistogramsOfAKilledRun(t *testing.T) {
	dir := t.TempDir()
	sums := writeLatencies(t, dir)
	check(t, os.Remove(filepath.Join(dir, FileTotal)))
	w, err := histogram.NewLogWriter(filepath.Join(dir, FileTotal), epoch)
	check(t, err)
	intervals, err := NewIntervalWriter(filepath.Join(dir, FileIntervals))
	check(t, err)
	for s, h := range sums {
		if s.Step == 0 {
			check(t, w.Write(epoch, time.Second, s.Tag(), h))
		}
		i := Interval{Step: s.Step, Phase: s.Phase, Operation: s.Operation}
		i.Latency(s.Timing, workload.OK).Count = h.TotalCount()
		check(t, intervals.Write([]Interval{i}))
	}
	check(t, w.Close())
	check(t, intervals.Close())
	recorded, err := ReadIntervals(filepath.Join(dir, FileIntervals))
	check(t, err)
	got, err := totalHistograms(dir, recorded)
	check(t, err)
	for s, h := range sums {
		if got[s] == nil || !h.Equals(got[s]) {
			t.Errorf("%s is not whole", s.Tag())
		}
	}
}
