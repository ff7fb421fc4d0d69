package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// usage is what one run of a program used.
type usage struct {
	cpu, wall  time.Duration
	anon, peak int64 // bytes: largest RssAnon seen, largest RSS
}

// row is one program and its runs.
type row struct {
	name string
	argv []string
	runs []usage
}

// measure runs a program and returns what the kernel says it used; RssAnon is
// sampled every 20 ms.
func measure(ctx context.Context, dir string, argv []string) (usage, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return usage{}, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var u usage
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			u.anon = max(u.anon, rssAnon(cmd.Process.Pid))
		case err := <-done:
			if err != nil {
				return u, fmt.Errorf("%w\n%s", err, output.String())
			}
			u.wall = time.Since(start)
			u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			u.peak = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss * 1024
			return u, nil
		}
	}
}

func rssAnon(pid int) int64 {
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "RssAnon:"); ok {
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

// ratio is the median of the ratios of runs that were neighbours, and its span.
func ratio(a, b []usage, of func(usage) float64) (mid, lo, hi float64) {
	var ratios []float64
	for i := range min(len(a), len(b)) {
		ratios = append(ratios, of(a[i])/of(b[i]))
	}
	slices.Sort(ratios)
	n := len(ratios)
	return (ratios[(n-1)/2] + ratios[n/2]) / 2, ratios[0], ratios[n-1]
}

func cpuOf(u usage) float64  { return u.cpu.Seconds() }
func anonOf(u usage) float64 { return float64(u.anon) / 1e6 }
func peakOf(u usage) float64 { return float64(u.peak) / 1e6 }

// printTable prints one row for each program, with ratios to the first.
func printTable(out io.Writer, o options, rows []row) {
	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| program\t| CPU per put\t| ratio (span)\t| RssAnon\t| ratio (span)\t| peak RSS\t| puts/s\t|")
	fmt.Fprintln(w, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	for _, r := range rows {
		cpu, cpuLo, cpuHi := ratio(r.runs, rows[0].runs, cpuOf)
		anon, anonLo, anonHi := ratio(r.runs, rows[0].runs, anonOf)
		fmt.Fprintf(w, "| %s\t| %.1f us\t| %.2f (%.2f-%.2f)\t| %.0f MB\t| %.2f (%.2f-%.2f)\t| %.0f MB\t| %.0f\t|\n", r.name,
			median(r.runs, cpuOf)*1e6/float64(o.requests), cpu, cpuLo, cpuHi,
			median(r.runs, anonOf), anon, anonLo, anonHi, median(r.runs, peakOf),
			float64(o.requests)/median(r.runs, func(u usage) float64 { return u.wall.Seconds() }))
	}
	w.Flush()
	fmt.Fprintf(out, "\nCPU is user and system time of the whole process, RssAnon its largest anonymous memory sampled every 20 ms, puts/s whole-process, start and end included; ratios are medians over neighbouring runs.\n")
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
