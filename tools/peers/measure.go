package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// usage is the CPU time and memory that a program took in one run.
type usage struct {
	requests   int
	cpu, wall  time.Duration
	anon, peak int64 // bytes: largest RssAnon seen, largest RSS
}

// row is one program and its runs.
type row struct {
	name string
	argv []string
	// notValid also accepts dbtester runs that were recorded but are not valid: the store failed
	// requests, and their cost to the client is measured all the same.
	notValid bool
	// count reads from the program's output how many requests it made; nil if the number is an
	// argument.
	count func(output string) (int, error)
	bars  []bar
	runs  []usage
}

// alternate runs every program o.pairs times, in turn. If before is not nil, it is called
// before each turn.
func alternate(ctx context.Context, o options, rows []row, before func() error) error {
	for pair := range o.pairs {
		if before != nil {
			if err := before(); err != nil {
				return err
			}
		}
		for i := range rows {
			u, err := rows[i].run(ctx, o)
			if err != nil {
				return fmt.Errorf("%s: %w", rows[i].name, err)
			}
			rows[i].runs = append(rows[i].runs, u)
			fmt.Fprintf(os.Stderr, "pair %d: %-26s %7d requests, %6.2f CPU s, %6.2f s, RssAnon %3d MB, peak RSS %3d MB\n",
				pair+1, rows[i].name, u.requests, u.cpu.Seconds(), u.wall.Seconds(), u.anon/1e6, u.peak/1e6)
		}
	}
	return nil
}

func (r row) run(ctx context.Context, o options) (usage, error) {
	u, output, err := measure(ctx, o.dir, r.argv)
	const recorded = 3 // dbtester's exit code
	if exit := (*exec.ExitError)(nil); r.notValid && errors.As(err, &exit) && exit.ExitCode() == recorded {
		err = nil
	}
	if err != nil {
		return u, err
	}
	u.requests = o.requests
	if r.count != nil {
		u.requests, err = r.count(output)
	}
	return u, err
}

// measure runs a program and returns its usage by the kernel's accounts and its
// output; RssAnon is sampled every 20 ms.
func measure(ctx context.Context, dir string, argv []string) (u usage, output string, err error) {
	start := time.Now()
	ended, output, err := watch(ctx, dir, argv, func(pid int) { u.anon = max(u.anon, rssAnon(pid)) })
	if ended != nil {
		u.wall = time.Since(start)
		u.cpu = ended.UserTime() + ended.SystemTime()
		u.peak = ended.SysUsage().(*syscall.Rusage).Maxrss * 1024
	}
	return u, output, err
}

// watch runs a program, calls sample with its process every 20 ms, and returns its output and what
// the kernel accounted for the process; nil if it was not started.
func watch(ctx context.Context, dir string, argv []string, sample func(pid int)) (*os.ProcessState, string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			sample(cmd.Process.Pid)
		case err := <-done:
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, output.String())
			}
			return cmd.ProcessState, output.String(), err
		}
	}
}

func rssAnon(pid int) int64 { return statusBytes(pid, "RssAnon:") }

// statusBytes returns a size from /proc/PID/status; 0 if the process is gone.
func statusBytes(pid int, field string) int64 {
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), field); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb * 1024
		}
	}
	return 0
}

func median(runs []usage, of func(usage) float64) float64 {
	values := make([]float64, len(runs))
	for i, u := range runs {
		values[i] = of(u)
	}
	slices.Sort(values)
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	return (values[(n-1)/2] + values[n/2]) / 2
}

// ratio divides neighbouring runs of a and b, and returns the median with the interval that holds
// the true median with a probability of at least 95 %, by order statistics. For fewer than 6 runs
// the interval is the span.
func ratio(a, b []usage, of func(usage) float64) (mid, lo, hi float64) {
	var ratios []float64
	for i := range min(len(a), len(b)) {
		ratios = append(ratios, of(a[i])/of(b[i]))
	}
	slices.Sort(ratios)
	n := len(ratios)
	left := outside(n)
	return (ratios[(n-1)/2] + ratios[n/2]) / 2, ratios[left], ratios[n-1-left]
}

// outside returns how many out of n values may be left out at each end of an interval for their
// median: each value lies below the median with probability one half.
func outside(n int) int {
	const most = .05 / 2
	below, chance := 0.0, math.Pow(.5, float64(n)) // that exactly k values are below it
	for k := 0; ; k++ {
		if below += chance; below > most {
			return max(k-1, 0)
		}
		chance *= float64(n-k) / float64(k+1)
	}
}

// span returns the least and the largest value.
func span(runs []usage, of func(usage) float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, u := range runs {
		lo, hi = min(lo, of(u)), max(hi, of(u))
	}
	return lo, hi
}

func cpuOf(u usage) float64  { return float64(u.cpu.Nanoseconds()) / 1e3 / float64(u.requests) } // us per request
func anonOf(u usage) float64 { return float64(u.anon) / 1e6 }
func peakOf(u usage) float64 { return float64(u.peak) / 1e6 }
func paceOf(u usage) float64 { return float64(u.requests) / u.wall.Seconds() }

// printTable prints one row for each program, with ratios to the first, and to the floor if there is
// one.
func printTable(out io.Writer, request string, rows []row) {
	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	floor, hasFloor := floorOf(rows)
	columns := []string{"program", "CPU per " + request, "ratio (interval)", "to the floor (interval)", "RssAnon", "ratio (interval)", "peak RSS", "ratio (interval)", request + "s/s", "bars"}
	if !hasFloor {
		columns = slices.Delete(columns, 3, 4)
	}
	fmt.Fprintf(w, "| %s\t|\n", strings.Join(columns, "\t| "))
	fmt.Fprintln(w, "|"+strings.Repeat("---\t|", len(columns)))
	for _, r := range rows {
		cells := []string{r.name, fmt.Sprintf("%.1f us", median(r.runs, cpuOf)), ratioCell(r, rows[0], cpuOf)}
		if hasFloor {
			cells = append(cells, ratioCell(r, floor, cpuOf))
		}
		cells = append(cells, fmt.Sprintf("%.1f MB", median(r.runs, anonOf)), ratioCell(r, rows[0], anonOf),
			fmt.Sprintf("%.0f MB", median(r.runs, peakOf)), ratioCell(r, rows[0], peakOf),
			fmt.Sprintf("%.0f", median(r.runs, paceOf)), r.verdicts(rows))
		fmt.Fprintf(w, "| %s\t|\n", strings.Join(cells, "\t| "))
	}
	w.Flush()
}

// ratioCell formats the ratio between two rows with its interval.
func ratioCell(r, to row, of func(usage) float64) string {
	mid, lo, hi := ratio(r.runs, to.runs, of)
	return fmt.Sprintf("%s (%s-%s)", times(mid), times(lo), times(hi))
}

// times prints a ratio, below 1 with three digits after the point and else with two.
func times(ratio float64) string {
	if ratio < 1 {
		return fmt.Sprintf("%.3f", ratio)
	}
	return fmt.Sprintf("%.2f", ratio)
}

// conditions describes the versions, the machine and the time for the runs that have ended, and how
// busy the machine was before them.
func (o options) conditions(before string) string {
	return fmt.Sprintf("%s, %s; %s, %d processors, %s/%s, %s, with a load average of %s before", toolVersion(o.dbtester, "version"), runtime.Version(),
		cpuModel(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, time.Now().UTC().Format(time.DateOnly), before)
}

// busy returns the load average over the last minute.
func busy() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(data), " ")
	return one
}

func cpuModel() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
