package analyze

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/chart"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/config"
)

// longRun writes three databases with three members each that were loaded for so many
// seconds.
func longRun(t testing.TB, dir string, seconds int) string {
	f := runtest.NewFixture(t, dir)
	for i, tag := range []string{"etcd-v3.6", "zookeeper-3.9", "consul-1.21"} {
		f.Long(tag, uint64(i), seconds, time.Duration(2+3*i)*time.Millisecond)
	}
	return f.Write()
}

// longSeconds is the length of the runs of the benchmarks: DBTESTER_LONG_SECONDS, an hour by
// default.
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

// TestLongRun writes the run of the benchmarks into the folder DBTESTER_LONG_DIR, for
// other programs to analyze.
func TestLongRun(t *testing.T) {
	dir := os.Getenv("DBTESTER_LONG_DIR")
	if dir == "" {
		t.Skip("DBTESTER_LONG_DIR names no folder")
	}
	longRun(t, dir, longSeconds(t))
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatalf("ask for the resources used: %v", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLongRun analyzes three databases with three members each. cpu-s is the
// processor time of one report.
func BenchmarkLongRun(b *testing.B) {
	dir := longRun(b, filepath.Join(b.TempDir(), "run"), longSeconds(b))
	for _, whole := range []bool{false, true} {
		b.Run(fmt.Sprintf("pictures=%v", whole), func(b *testing.B) {
			o := Options{Folders: []string{dir}, Out: b.TempDir()}
			for _, p := range config.DefaultPlots() {
				o.Plots = append(o.Plots, chart.Plot(p))
			}
			b.ReportAllocs()
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
		})
	}
}
