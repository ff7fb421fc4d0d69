package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// sweep is one way to make a load, with several request counts, the fewest first.
type sweep struct {
	requests []int
	// run makes one load and returns its RssAnon in bytes.
	run  func(ctx context.Context, o options, requests int) (footprint, error)
	runs [][]footprint // by request count
}

// footprint is the RssAnon of a process: when its load ended, and the largest while it lived.
type footprint struct{ end, peak int64 }

// mostGrowth is the most that ten times the requests may take, as an RssAnon ratio.
const mostGrowth = 1.05

// memoryPage shows whether the memory of a load grows with its requests.
func memoryPage() page {
	return page{
		title: "Memory of the client over numbers of requests",
		about: fmt.Sprintf(`RssAnon as in /proc/PID/status, sampled every 20 ms; 1 MB is 10^6 bytes. "At most" is of the whole process, start and end included. Ten times the requests should take at most %g times the RssAnon. Measured by `+"`make bench-memory`"+`, each section by itself, at the commit and the date that it names: ratios are medians over neighbouring runs, with the interval that holds such a median with at least 95 %% probability by the order of the runs.

The null client does nothing: its process is the engine, the recorder and the records' files, at a rate that makes every load ten seconds long, or in a closed loop. Control writes 16-byte keys and 64-byte values with 100 clients on 10 connections to the built-in etcd, one member in a process of its own with its data in memory; its loads last as long as they take, so the larger has about ten times the seconds too. Two loads read and update 10,000 keys, half and half; in one the answer of each request is judged (consistency: true). What is left of requests is collected after two seconds or more, and the more seconds a load takes, the more garbage the latest collection may have found: what the two have "at most" grows with that. The judge's own memory does not.

Two things keep it so: garbage is collected during a load once there are 128 KiB of it, which takes about nine seconds whatever the rate is, and what a load needs is garbage when its classic files are derived, which therefore takes no memory on top.`, mostGrowth),
		parts: memoryParts(),
	}
}

// memoryParts returns the sweeps.
func memoryParts() []part {
	measured := func(name, title string, minutes int, s sweep) part {
		return part{name, title, minutes, func(ctx context.Context, o options, out io.Writer) error {
			return o.workIn(6, func(o options) error { return s.measure(ctx, o, out) })
		}}
	}
	many := []int{100_000, 1_000_000, 10_000_000}
	const mixed = "load: {mix: {read: 50, update: 50}, keys: 10000, key_law: uniform, requests: %d, clients: 100, connections: 10, key_size: 16, value_size: 64}\n"
	return []part{
		measured("null", "Null client, 10 s", 5, sweep{requests: many, run: null("rate")}),
		measured("null-closed", "Null client, closed loop", 3, sweep{requests: many, run: null("closed")}),
		measured("etcd", "Control, etcd", 15, sweep{requests: many[:2], run: control("load: {operation: write, requests: %d, clients: 100, connections: 10, key_size: 16, value_size: 64}\nconsistency: false")}),
		measured("reads", "Control, etcd, reads", 15, sweep{requests: many[:2], run: control(mixed + "consistency: false")}),
		measured("judged", "Control, etcd, judged", 15, sweep{requests: many[:2], run: control(mixed + "consistency: true")}),
	}
}

// measure runs every request count o.pairs times, in turn, and prints a table.
func (s sweep) measure(ctx context.Context, o options, out io.Writer) error {
	before := busy()
	s.runs = make([][]footprint, len(s.requests))
	for pair := range o.pairs {
		for i, n := range s.requests {
			f, err := s.run(ctx, o, n)
			if err != nil {
				return fmt.Errorf("%d requests: %w", n, err)
			}
			s.runs[i] = append(s.runs[i], f)
			fmt.Fprintf(os.Stderr, "pair %d: %9d requests, RssAnon %6.2f MB at the load's end, %6.2f MB at most\n",
				pair+1, n, float64(f.end)/1e6, float64(f.peak)/1e6)
		}
	}
	fmt.Fprintf(out, "%d runs of each number of requests, in turn; medians. %s.\n\n", o.pairs, o.conditions(before))
	s.print(out)
	return nil
}

// null runs the engine's own benchmark with a client that does nothing.
func null(loop string) func(context.Context, options, int) (footprint, error) {
	return func(ctx context.Context, o options, requests int) (footprint, error) {
		program := filepath.Join(o.dir, "load.test")
		if _, err := os.Stat(program); err != nil {
			build := exec.CommandContext(ctx, "go", "test", "-c", "-o", program, "./pkg/load")
			build.Dir = o.repo
			if text, err := build.CombinedOutput(); err != nil {
				return footprint{}, fmt.Errorf("build the benchmark: %w\n%s", err, text)
			}
		}
		samples, text, err := sampled(ctx, o.dir, []string{program, "-test.run=^$",
			fmt.Sprintf("-test.bench=^BenchmarkEngineMemory$/^loop=%s$/^requests=%d$", loop, requests), "-test.benchtime=1x"})
		if err != nil {
			return footprint{}, err
		}
		before, _, ok := strings.Cut(text, " end-rss-anon-MB")
		fields := strings.Fields(before)
		if !ok || len(fields) == 0 {
			return footprint{}, fmt.Errorf("the benchmark says nothing of its memory:\n%s", text)
		}
		mb, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		end := int64(mb * 1e6)
		return footprint{end: end, peak: max(largest(samples), end)}, err
	}
}

// control returns a function that runs dbtester control with one etcd member, a separate process.
// keys are lines in the experiment file, with a verb for the request count.
func control(keys string) func(context.Context, options, int) (footprint, error) {
	return func(ctx context.Context, o options, requests int) (footprint, error) {
		return controlOf(ctx, o, fmt.Sprintf(keys, requests))
	}
}

func controlOf(ctx context.Context, o options, keys string) (f footprint, err error) {
	dir, err := os.MkdirTemp(o.dir, "control-")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o.dir = dir
	member := oneMember(o)
	if err := member.renew(ctx); err != nil {
		return f, errors.Join(err, member.stop())
	}
	defer func() { err = errors.Join(err, member.stop()) }()
	config := filepath.Join(dir, "experiment.yaml")
	text := fmt.Sprintf(`title: memory
results: %s
%s
databases:
  etcd:
    endpoints: [%s]
    steps: {start: false, stop: false}
`, filepath.Join(dir, "results"), keys, member.endpoints[0])
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return f, err
	}
	samples, _, err := sampled(ctx, dir, []string{o.dbtester, "control", "--full-speed", "--config", config})
	if err != nil {
		return f, err
	}
	end, err := loadEnd(dir)
	if err != nil {
		return f, err
	}
	for _, s := range samples {
		if !s.at.After(end) {
			f.end = s.anon
		}
	}
	f.peak = largest(samples)
	return f, nil
}

// oneMember is the etcd built into dbtester, alone.
func oneMember(o options) *cluster {
	const addr = "127.96.0.1"
	client, peer := "http://"+addr+":2379", "http://"+addr+":2380"
	return &cluster{dir: o.dir, addrs: []string{addr}, endpoints: []string{addr + ":2379"}, healthy: etcdHealthy,
		command: func(_ int, dir string) ([]string, error) {
			return []string{o.dbtester, "serve", "etcd", "--name=memory", "--data-dir=" + filepath.Join(dir, "data"),
				"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
				"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=memory=" + peer,
				"--quota-backend-bytes=8000000000", "--logger=zap", "--log-outputs=stderr", "--log-level=error"}, nil
		}}
}

// loadEnd returns when the only load in the only run under dir ended.
func loadEnd(dir string) (time.Time, error) {
	files, err := filepath.Glob(filepath.Join(dir, "results", "*", "*", "manifest.json"))
	if err != nil || len(files) != 1 {
		return time.Time{}, fmt.Errorf("%d manifests instead of 1: %w", len(files), err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		return time.Time{}, err
	}
	var manifest struct {
		Databases []struct {
			LoadEnd time.Time `json:"load_end"`
		} `json:"databases"`
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return time.Time{}, fmt.Errorf("read the manifest: %w", err)
	}
	if len(manifest.Databases) != 1 || manifest.Databases[0].LoadEnd.IsZero() {
		return time.Time{}, errors.New("the manifest has no end of a load")
	}
	return manifest.Databases[0].LoadEnd, nil
}

// sample is the RssAnon of a process at one moment.
type sample struct {
	at   time.Time
	anon int64
}

func largest(samples []sample) (most int64) {
	for _, s := range samples {
		most = max(most, s.anon)
	}
	return most
}

// sampled runs a program and samples its RssAnon every 20 ms.
func sampled(ctx context.Context, dir string, argv []string) (samples []sample, output string, err error) {
	_, output, err = watch(ctx, dir, argv, func(pid int) { samples = append(samples, sample{time.Now(), rssAnon(pid)}) })
	return samples, output, err
}

// print prints one row for each request count, with ratios to the count before.
func (s sweep) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| requests\t| RssAnon at its end\t| to a tenth of the requests (interval)\t| at most\t| to a tenth (interval)\t| bars\t|")
	fmt.Fprintln(w, "|---:\t|---\t|---\t|---\t|---\t|---\t|")
	end := func(f footprint) usage { return usage{anon: f.end} }
	peak := func(f footprint) usage { return usage{anon: f.peak} }
	for i := range s.runs {
		fmt.Fprintf(w, "| %d\t", s.requests[i])
		var bars []string
		for at, of := range []func(footprint) usage{end, peak} {
			now := usages(s.runs[i], of)
			fmt.Fprintf(w, "| %.2f MB\t", median(now, anonOf))
			if i == 0 {
				fmt.Fprint(w, "|\t")
				continue
			}
			mid, lo, hi := ratio(now, usages(s.runs[i-1], of), anonOf)
			fmt.Fprintf(w, "| %.3f (%.3f-%.3f)\t", mid, lo, hi)
			bars = append(bars, fmt.Sprintf("%s %.3f <= %g%s", []string{"at its end", "at most"}[at], mid, mostGrowth, judge(mid, mostGrowth)))
		}
		fmt.Fprintf(w, "| %s\t|\n", strings.Join(bars, "; "))
	}
	w.Flush()
}

func usages(runs []footprint, of func(footprint) usage) []usage {
	all := make([]usage, len(runs))
	for i, f := range runs {
		all[i] = of(f)
	}
	return all
}
