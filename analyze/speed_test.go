package analyze

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/chart"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/config"
)

// longRun writes records for three databases with three members each and a load that lasts that
// many seconds.
func longRun(t testing.TB, dir string, seconds int) string {
	f := runtest.NewFixture(t, dir)
	for i, tag := range []string{"etcd-v3.6", "zookeeper-3.9", "consul-1.21"} {
		f.Long(tag, uint64(i), seconds, time.Duration(2+3*i)*time.Millisecond)
	}
	return f.Write()
}

// longSeconds is the length of the benchmarks' runs: DBTESTER_LONG_SECONDS, an hour by default.
func longSeconds(t testing.TB) int {
	text := os.Getenv("DBTESTER_LONG_SECONDS")
	if text == "" {
		return 3600
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		t.Fatalf("DBTESTER_LONG_SECONDS must be a number of seconds, got %q", text)
	}
	return n
}

// TestLongRun writes the run for the benchmarks into the folder DBTESTER_LONG_DIR, for other
// programs to analyze.
func TestLongRun(t *testing.T) {
	dir := os.Getenv("DBTESTER_LONG_DIR")
	if dir == "" {
		t.Skip("DBTESTER_LONG_DIR names no folder")
	}
	longRun(t, dir, longSeconds(t))
}

// processorTime returns this process's CPU time.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatalf("ask for the resources used: %v", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMemory returns this process's largest resident memory so far, in bytes.
func peakMemory(b *testing.B) float64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(data), "VmHWM:")
	kB, err := strconv.ParseFloat(strings.Fields(after + " ?")[0], 64)
	if err != nil {
		b.Fatalf("read the peak of memory: %v", err)
	}
	return 1024 * kB
}

// BenchmarkLongRun analyzes three databases with three members each. cpu-s is the CPU time for one
// report. With DBTESTER_LONG_DIR, a list like PATH, it analyzes the runs in these folders. peak-MB
// is then measured in a process that has not written the run:
//
//	DBTESTER_LONG_SECONDS=86400 DBTESTER_LONG_DIR=/tmp/day go test ./analyze -run LongRun -timeout 2h
//	DBTESTER_LONG_DIR=/tmp/day go test ./analyze -run '^$' -bench LongRun/pictures=true -benchtime 1x
func BenchmarkLongRun(b *testing.B) {
	dirs := filepath.SplitList(os.Getenv("DBTESTER_LONG_DIR"))
	if len(dirs) == 0 {
		dirs = []string{longRun(b, filepath.Join(b.TempDir(), "run"), longSeconds(b))}
	}
	for _, whole := range []bool{false, true} {
		b.Run(fmt.Sprintf("pictures=%v", whole), func(b *testing.B) {
			o := Options{Folders: dirs, Out: b.TempDir()}
			for _, p := range config.DefaultPlots() {
				o.Plots = append(o.Plots, chart.Plot(p))
			}
			b.ReportAllocs()
			defer debug.SetGCPercent(debug.SetGCPercent(60)) // as the command
			before := processorTime(b)
			for b.Loop() {
				d, err := newDocument(b.Context(), o)
				if err != nil {
					b.Fatal(err)
				}
				if whole {
					err = d.write(b.Context())
				} else if err = d.writeTable(); err == nil {
					err = d.writeSeries()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((processorTime(b)-before).Seconds()/float64(b.N), "cpu-s")
			b.ReportMetric(peakMemory(b)/1e6, "peak-MB")
		})
	}
}

// retainedBytes returns the memory that records of a run with that many seconds keep.
func retainedBytes(t *testing.T, seconds int) float64 {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	f.Long("etcd-v3.6", 1, seconds, 2*time.Millisecond)
	dir := f.Write()
	used := func() float64 {
		var m runtime.MemStats
		for range 3 {
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := used()
	runs, err := run.FromFolder(dir)
	if err != nil {
		t.Fatalf("read the run: %v", err)
	}
	runs[0].Heat.Bins = nil // at most some, however long the run is
	after := used()
	runtime.KeepAlive(runs)
	return after - before
}

// TestRecordsAreSmall: the memory for each second bounds the length of a run that can be analyzed.
// It is the same on every machine. The test has three members with 80 numbers each and two
// histograms.
func TestRecordsAreSmall(t *testing.T) {
	const short, long, most = 60, 460, 900
	perSecond := (retainedBytes(t, long) - retainedBytes(t, short)) / (long - short)
	t.Logf("%.0f bytes a second", perSecond)
	if perSecond > most {
		t.Errorf("each second of a run may keep %d bytes, got %.0f", most, perSecond)
	}
}
