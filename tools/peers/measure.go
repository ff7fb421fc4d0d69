package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// usage is the CPU time and memory of one program run.
type usage struct {
	requests   int
	cpu, wall  time.Duration
	anon, peak int64 // bytes: largest RssAnon seen, largest RSS
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

// watch runs a program, calls sample with its process every 20 ms, and returns its output and the
// account that the kernel kept for the process; nil if it was not started.
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
// median: each value lies below the median with a probability of one half.
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
