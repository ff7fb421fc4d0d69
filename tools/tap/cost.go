package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/coreos/dbtester/pkg/stats/order"
	"github.com/coreos/dbtester/tools/experiment"
)

// plain is an experiment whose fault comes after the measured seconds. With a disk fault, all
// members are tapped from their start on; with a pause, no member is.
const plain = `title: tap
hosts: [127.0.3.1, 127.0.3.2, 127.0.3.3]
load: {%s, duration: 11s, warm_up: 1s, key_size: 32, value_size: 256, failover: next}
consistency: false
probe: 0s
faults:
- {kind: %s, member: 1, at: 9s, for: 1s%s}
databases:
  etcd: {}
`

// cost is a load under which the cost of the tap is measured.
type cost struct{ name, load string }

// costLoads returns a closed loop, whose answers all wait for a disk, and the load in the published
// fault sets.
func costLoads() []cost {
	return []cost{
		{"a closed loop of 5 clients that write 256 bytes", "operation: write, clients: 5, timeout: 2s"},
		{"500 updates of 256 bytes a second by 600 clients, as in the published sets of faults", "operation: update, keys: 20000, rate: 500, clients: 600, timeout: 1s, backlog: shed"},
	}
}

// figures are measured in a run before its fault.
type figures struct {
	rate     float64 // ok requests per second
	p50, p99 float64 // medians of the percentiles in each second, in seconds
	fsync    float64 // mean time of a log fsync as the members count it, in seconds
}

// pairs runs pairs, one run with a tap and one without it.
func (c cost) pairs(ctx context.Context, program, dir string, n int, progress io.Writer) ([]experiment.Pair[figures], []string) {
	arm := func(kind, keys string) func() (figures, error) {
		return func() (figures, error) {
			return measure(ctx, program, filepath.Join(dir, "cost"), fmt.Sprintf(plain, c.load, kind, keys))
		}
	}
	return experiment.Pairs(ctx, n, arm("disk", ", fsync: 1ms"), arm("pause", ""), func(number int, p experiment.Pair[figures]) {
		fmt.Fprintf(progress, "pair %d of %s: %.0f requests/s and %.4f ms for an fsync tapped, %.0f and %.4f not\n", number, c.name, p.With.rate, 1000*p.With.fsync, p.Without.rate, 1000*p.Without.fsync)
	})
}

// measure makes a run.
func measure(ctx context.Context, program, dir, text string) (f figures, err error) {
	defer os.RemoveAll(dir)
	path, err := experiment.Run(ctx, program, dir, text, filepath.Join("*", "faults.csv"))
	if err != nil {
		return f, err
	}
	return read(filepath.Dir(path))
}

// read reads the figures from a database folder.
func read(folder string) (f figures, err error) {
	faults, err := experiment.Table(filepath.Join(folder, "faults.csv"))
	if err != nil {
		return f, err
	}
	if len(faults) != 1 || faults[0]["failed"] != "0" {
		return f, fmt.Errorf("the run must have one fault that did not fail, got %v", faults)
	}
	at, err := time.Parse(time.RFC3339Nano, faults[0]["from"])
	if err != nil {
		return f, err
	}
	seconds, err := experiment.Table(filepath.Join(folder, "intervals.csv"))
	if err != nil {
		return f, err
	}
	begin, ok := int64(0), 0.0
	var p50, p99 []float64
	for _, s := range seconds {
		if s["phase"] != "measure" {
			continue
		}
		var n experiment.Numbers
		second := n.Of(s, "second")
		if begin == 0 {
			begin = int64(second) + 1 // the first second is measured in part
		}
		if int64(second) < begin || int64(second)+1 > at.Unix() {
			continue
		}
		ok += n.Of(s, "service_ok_count")
		p50, p99 = append(p50, n.Of(s, "service_ok_p50_ns")/1e9), append(p99, n.Of(s, "service_ok_p99_ns")/1e9)
		if n.Err != nil {
			return f, n.Err
		}
	}
	if len(p99) < 3 {
		return f, fmt.Errorf("the run must have three whole seconds before its fault, got %d", len(p99))
	}
	f.rate, f.p50, f.p99 = ok/float64(len(p99)), order.Of(p50).Is, order.Of(p99).Is
	f.fsync, err = meanFsync(folder, time.Unix(begin, 0), at)
	return f, err
}

// meanFsync reads the mean fsync time over all members between two times.
func meanFsync(folder string, from, to time.Time) (float64, error) {
	var count, sum float64
	for member := range 3 {
		samples, err := experiment.Table(filepath.Join(folder, fmt.Sprintf("%d-database-metrics.csv", member+1)))
		if err != nil {
			return 0, err
		}
		var first, last map[string]string
		var n experiment.Numbers
		for _, s := range samples {
			if t := time.Unix(0, int64(n.Of(s, "UNIX-NANOSECOND"))); s["ERROR"] != "" || t.Before(from) || t.After(to) {
				continue
			}
			if first == nil {
				first = s
			}
			last = s
		}
		if first != nil {
			count += n.Of(last, "FSYNCS") - n.Of(first, "FSYNCS")
			sum += n.Of(last, "FSYNC-SECONDS") - n.Of(first, "FSYNC-SECONDS")
		}
		if n.Err != nil {
			return 0, n.Err
		}
	}
	if count == 0 {
		return 0, errors.New("the members counted no fsync")
	}
	return sum / count, nil
}

// reportCosts explains how the costs were measured.
func reportCosts(out io.Writer, n int) {
	fmt.Fprintf(out, "\n## Without a fault\n\nThe cost of the tap while no fault is applied: for each load %d pairs of runs whose order alternates, each with a fresh cluster. The whole seconds before a fault are compared: a fault of a disk, for which all members are tapped from their start on, and a pause, for which none is. Latencies are medians of those of each second; the time of an fsync is the mean by the members' own counts. The medians of the ratios within pairs have the interval of their order statistics; within noise: it has 1, and a wide one, as on a busy machine, excludes little.\n", n)
}

// report prints the ratios within pairs.
func (c cost) report(out io.Writer, list []experiment.Pair[figures], failed []string) {
	fmt.Fprintf(out, "\nWith %s, %d pairs:\n\n", c.name, len(list))
	experiment.Compare(out, "tapped", "not tapped", list, failed,
		experiment.Figure[figures]{Name: "requests per second", Scale: 1, Of: func(f figures) float64 { return f.rate }},
		experiment.Figure[figures]{Name: "latency, p50", Unit: " ms", Scale: 1000, Of: func(f figures) float64 { return f.p50 }},
		experiment.Figure[figures]{Name: "latency, p99", Unit: " ms", Scale: 1000, Of: func(f figures) float64 { return f.p99 }},
		experiment.Figure[figures]{Name: "fsync, mean", Unit: " ms", Scale: 1000, Of: func(f figures) float64 { return f.fsync }})
}
