package analyze

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// TestLongRunCosts writes a table of the costs of reports of long runs, and of the size of their
// records, into the file DBTESTER_LONG_FILE: make long-runs. It asserts no times.
func TestLongRunCosts(t *testing.T) {
	to := os.Getenv("DBTESTER_LONG_FILE")
	if to == "" {
		t.Skip("it takes minutes: make long-runs")
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatalf("read the load average: %v", err)
	}
	var b, sizes strings.Builder
	fmt.Fprintf(&b, "# Reports of long runs\n\nWritten by `make long-runs` on a machine with %d processors; load averages %s at the start. ", runtime.NumCPU(), strings.Join(strings.Fields(string(load))[:3], ", "))
	b.WriteString("The runs are synthetic: three databases, of which each has three members, a sample a second, and a closed loop of 500 requests a second. A process of its own makes each report: the tables and series alone by the benchmark of package analyze, all of it by the command. \"Compressed\" means that the samples are, as control leaves those of a day.\n\n")
	b.WriteString("| runs | records | tables: wall | CPU | peak RSS | all: wall | CPU | peak RSS |\n|---|---|---|---|---|---|---|---|\n")
	for _, one := range []struct {
		name            string
		trials, seconds int
	}{{"an hour", 1, 3600}, {"three trials of an hour", 3, 3600}, {"a day", 1, 86_400}} {
		var dirs []string
		for range one.trials {
			dirs = append(dirs, longRun(t, filepath.Join(t.TempDir(), "run"), one.seconds))
		}
		fmt.Fprintf(&b, "| %s | %.0f MB | %s | %s |\n", one.name, float64(size(t, dirs, nil))/1e6, cost(t, dirs, false), cost(t, dirs, true))
		if one.seconds > 3600 {
			compressLong(t, dirs, &sizes)
			fmt.Fprintf(&b, "| %s, compressed | %.0f MB | %s | %s |\n", one.name, float64(size(t, dirs, nil))/1e6, cost(t, dirs, false), cost(t, dirs, true))
		}
	}
	if err := os.WriteFile(to, []byte(b.String()+sizes.String()), 0o644); err != nil {
		t.Errorf("write the table: %v", err)
	}
}

// compressLong compresses the samples of runs of a day, and writes what that does to the sizes.
func compressLong(t *testing.T, dirs []string, to *strings.Builder) {
	t.Helper()
	kinds := []string{results.FileServer, results.FileDatabase}
	of := func(kind string) int64 {
		return size(t, dirs, func(file string) bool { return strings.Contains(file, "-"+kind) && !strings.Contains(file, "client") })
	}
	before := map[string]int64{}
	for _, kind := range kinds {
		before[kind] = of(kind)
	}
	start := time.Now()
	for _, dir := range dirs {
		tags, err := os.ReadDir(dir)
		if err != nil {
			t.Fatalf("list the databases: %v", err)
		}
		for _, tag := range tags {
			if !tag.IsDir() {
				continue
			}
			if _, err := results.Compress(filepath.Join(dir, tag.Name()), results.CompressFrom); err != nil {
				t.Fatalf("compress the records: %v", err)
			}
		}
	}
	fmt.Fprintf(to, "\nCompressing the records of a day took %.1f s.\n\n| file | bytes a second of a member | compressed |\n|---|---|---|\n", time.Since(start).Seconds())
	for _, kind := range kinds {
		const memberSeconds = 9 * 86_400
		fmt.Fprintf(to, "| `N-%s` | %d | %d |\n", kind, before[kind]/memberSeconds, of(kind)/memberSeconds)
	}
}

// size returns the bytes of the files in folders that keep accepts; nil accepts all.
func size(t *testing.T, dirs []string, keep func(file string) bool) (bytes int64) {
	t.Helper()
	for _, dir := range dirs {
		if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || keep != nil && !keep(d.Name()) {
				return err
			}
			info, err := d.Info()
			bytes += info.Size()
			return err
		}); err != nil {
			t.Fatalf("measure the records: %v", err)
		}
	}
	return bytes
}

// cost makes a report in a process of its own, and returns the cells of its costs: the tables alone
// by a benchmark of this package, all of it by the program DBTESTER_PROGRAM.
func cost(t *testing.T, dirs []string, pictures bool) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^$", "-test.bench", "LongRun/pictures=false", "-test.benchtime", "1x")
	c.Env = append(os.Environ(), "DBTESTER_LONG_DIR="+strings.Join(dirs, string(filepath.ListSeparator)))
	report := filepath.Join(t.TempDir(), "report")
	if pictures {
		c = exec.CommandContext(t.Context(), os.Getenv("DBTESTER_PROGRAM"), append([]string{"analyze", "--out", report}, dirs...)...)
	}
	start := time.Now()
	out, err := c.CombinedOutput()
	wall := time.Since(start)
	if _, missing := os.Stat(filepath.Join(report, "report.html")); pictures && missing == nil {
		err = nil // the synthetic runs may be called invalid
	}
	if err != nil {
		t.Fatalf("analyze: %v\n%s", err, out)
	}
	used := c.ProcessState.SysUsage().(*syscall.Rusage)
	return fmt.Sprintf("%.1f s | %.1f s | %.0f MB", wall.Seconds(), (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(), float64(used.Maxrss)*1024/1e6)
}
