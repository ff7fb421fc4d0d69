package analyze

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/stats/order"
)

// longRuns are the runs in the table, with the most that their reports may cost.
var longRuns = []struct {
	name            string
	trials, seconds int
	repeats         int
	tables, all     costs
}{
	{name: "an hour", trials: 1, seconds: 3600, repeats: 5},
	{name: "three trials of an hour", trials: 3, seconds: 3600, repeats: 5, tables: costs{wall: 1.5}, all: costs{wall: 3.5, cpu: 5, peak: 150}},
	{name: "a day", trials: 1, seconds: 86_400, repeats: 3, all: costs{wall: 15, peak: 300}},
}

// TestLongRunCosts writes a table with the costs of reports on long runs, and the sizes of their
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
	version, err := exec.CommandContext(t.Context(), os.Getenv("DBTESTER_PROGRAM"), "version").Output()
	if err != nil {
		t.Fatalf("ask for the version: %v", err)
	}
	named, _, _ := strings.Cut(string(version), "\n")
	var b, sizes strings.Builder
	fmt.Fprintf(&b, "# Reports of long runs\n\nWritten by `make long-runs` with %s on a machine with %d processors, %s; load averages %s at the start. ", named, runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly), strings.Join(strings.Fields(string(load))[:3], ", "))
	b.WriteString("The runs are synthetic: three databases, of which each has three members, a sample a second, and a closed loop of 500 requests a second. A process of its own makes each report: the tables and series alone by the benchmark of package analyze, all of it by the command. \"Compressed\" means that the samples are, as control leaves those of a day. Numbers are medians of the repeats with their spans; a bar is the most that a median may be.\n\n")
	b.WriteString("| runs | repeats | records | report | wall | CPU | peak RSS | bars |\n|---|---|---|---|---|---|---|---|\n")
	for _, one := range longRuns {
		var dirs []string
		for range one.trials {
			dirs = append(dirs, longRun(t, filepath.Join(t.TempDir(), "run"), one.seconds))
		}
		row := func(name string) {
			for _, whole := range []bool{false, true} {
				kind, most := "tables", one.tables
				if whole {
					kind, most = "all", one.all
				}
				fmt.Fprintf(&b, "| %s | %d | %.0f MB | %s | %s |\n", name, one.repeats, float64(size(t, dirs, nil))/1e6, kind, costCells(t, dirs, one.repeats, whole, most))
			}
		}
		row(one.name)
		if one.seconds > 3600 {
			compressLong(t, dirs, &sizes)
			row(one.name + ", compressed")
		}
	}
	if err := os.WriteFile(to, []byte(b.String()+sizes.String()), 0o644); err != nil {
		t.Errorf("write the table: %v", err)
	}
}

// compressLong compresses the samples from day-long runs, and writes the sizes before and after.
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

// size returns the bytes in the folders' files that keep accepts; nil accepts all.
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

// costs holds the seconds, processor seconds and megabytes for a report.
type costs struct{ wall, cpu, peak float64 }

// costCells makes a report some times, and returns the cells with its costs and with the bars that
// are not 0.
func costCells(t *testing.T, dirs []string, repeats int, whole bool, most costs) string {
	t.Helper()
	var all []costs
	for range repeats {
		all = append(all, cost(t, dirs, whole))
	}
	var cells, bars []string
	for _, q := range []struct {
		name, unit string
		of         func(costs) float64
	}{
		{"wall", "s", func(c costs) float64 { return c.wall }},
		{"CPU", "s", func(c costs) float64 { return c.cpu }},
		{"peak RSS", "MB", func(c costs) float64 { return c.peak }},
	} {
		var values []float64
		for _, c := range all {
			values = append(values, q.of(c))
		}
		slices.Sort(values)
		middle := order.Middle(values)
		cells = append(cells, fmt.Sprintf("%.3g %s (%.3g-%.3g)", middle, q.unit, values[0], values[len(values)-1]))
		if bar := q.of(most); bar > 0 {
			word := "met"
			if middle > bar {
				word = "missed"
			}
			bars = append(bars, fmt.Sprintf("%s <= %g %s: %s", q.name, bar, q.unit, word))
		}
	}
	return strings.Join(append(cells, strings.Join(bars, "; ")), " | ")
}

// cost makes a report in a separate process, and returns its costs: for the tables alone by a
// benchmark in this package, for everything by the program DBTESTER_PROGRAM.
func cost(t *testing.T, dirs []string, whole bool) costs {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^$", "-test.bench", "LongRun/pictures=false", "-test.benchtime", "1x")
	c.Env = append(os.Environ(), "DBTESTER_LONG_DIR="+strings.Join(dirs, string(filepath.ListSeparator)))
	report := filepath.Join(t.TempDir(), "report")
	if whole {
		c = exec.CommandContext(t.Context(), os.Getenv("DBTESTER_PROGRAM"), append([]string{"analyze", "--out", report}, dirs...)...)
	}
	start := time.Now()
	out, err := c.CombinedOutput()
	wall := time.Since(start)
	if _, missing := os.Stat(filepath.Join(report, "report.html")); whole && missing == nil {
		err = nil // the synthetic runs may be called invalid
	}
	if err != nil {
		t.Fatalf("analyze: %v\n%s", err, out)
	}
	if err := os.RemoveAll(report); err != nil {
		t.Fatalf("remove the report: %v", err)
	}
	used := c.ProcessState.SysUsage().(*syscall.Rusage)
	return costs{wall.Seconds(), (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(), float64(used.Maxrss) * 1024 / 1e6}
}
