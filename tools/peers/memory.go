package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// sweep is one way to make a load, in several numbers of requests, the fewest
// first.
type sweep struct {
	name     string
	requests []int
	// run makes one load and returns its RssAnon in bytes.
	run  func(ctx context.Context, requests int) (footprint, error)
	runs [][]footprint // by number of requests
}

// footprint is the RssAnon of one process: when its load ended, and the largest of
// its life.
type footprint struct{ end, peak int64 }

// memoryOptions are those of `peers memory`.
type memoryOptions struct {
	options
	repo string
	only string
}

// memory measures whether the memory of a load grows with its requests. Run it by
// `make bench-memory`.
func memory(ctx context.Context, args []string, out io.Writer) (err error) {
	var o memoryOptions
	flags := flag.NewFlagSet("memory", flag.ContinueOnError)
	flags.StringVar(&o.dbtester, "dbtester", "../../bin/dbtester", "the dbtester to measure")
	flags.StringVar(&o.repo, "repo", "../..", "its source, for the benchmark of the client that does nothing")
	flags.StringVar(&o.only, "only", "", "measure only what begins with this")
	flags.IntVar(&o.pairs, "pairs", 6, "runs of each number of requests")
	flags.StringVar(&o.data, "data", "/dev/shm", "where the server keeps its data: memory, so that no disk decides")
	if err := o.prepare(flags, args); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", filepath.Join(o.dir, "load.test"), "./pkg/load")
	build.Dir = o.repo
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the benchmark: %w\n%s", err, text)
	}
	sweeps, err := o.sweeps()
	if err != nil {
		return err
	}
	for i := range sweeps {
		if strings.HasPrefix(sweeps[i].name, o.only) {
			if err := sweeps[i].measure(ctx, o.pairs); err != nil {
				return fmt.Errorf("%s: %w", sweeps[i].name, err)
			}
		}
	}
	fmt.Fprintln(out, "# Memory of the client over numbers of requests")
	fmt.Fprintf(out, "\nTen times the requests take %.3f times the RssAnon at most, by medians, and should take at most 1.05 times as much. Measured by `make bench-memory`, on a machine that may have been busy with other things.\n", largestRatio(sweeps))
	fmt.Fprintf(out, "\n%d runs of each number of requests, in turn; medians, and medians of the ratios of neighbouring runs with their span. %s.\n\n", o.pairs, o.conditions())
	printFootprints(out, sweeps)
	return nil
}

// sweeps returns the series of runs, one for each program.
func (o *memoryOptions) sweeps() ([]sweep, error) {
	many := []int{100_000, 1_000_000, 10_000_000}
	const mixed = "load: {mix: {read: 50, update: 50}, keys: 10000, key_law: uniform, requests: %d, clients: 100, connections: 10, key_size: 16, value_size: 64}\n"
	return []sweep{
		{name: "null client, 10 s", requests: many, run: o.null("rate")},
		{name: "null client, closed loop", requests: many, run: o.null("closed")},
		{name: "control, etcd", requests: many[:2], run: o.control("load: {operation: write, requests: %d, clients: 100, connections: 10, key_size: 16, value_size: 64}")},
		{name: "control, etcd, reads", requests: many[:2], run: o.control(mixed)},
		{name: "control, etcd, judged", requests: many[:2], run: o.control(mixed + "consistency: true")},
	}, nil
}

// measure runs every number of requests pairs times, in turn.
func (s *sweep) measure(ctx context.Context, pairs int) error {
	s.runs = make([][]footprint, len(s.requests))
	for pair := range pairs {
		for i, n := range s.requests {
			f, err := s.run(ctx, n)
			if err != nil {
				return fmt.Errorf("%d requests: %w", n, err)
			}
			s.runs[i] = append(s.runs[i], f)
			fmt.Fprintf(os.Stderr, "pair %d: %-26s %9d requests, RssAnon %6.2f MB at the load's end, %6.2f MB at most\n",
				pair+1, s.name, n, float64(f.end)/1e6, float64(f.peak)/1e6)
		}
	}
	return nil
}

// null runs the engine's own benchmark with a client that does nothing.
func (o *memoryOptions) null(loop string) func(context.Context, int) (footprint, error) {
	return func(ctx context.Context, requests int) (footprint, error) {
		samples, text, err := sampled(ctx, o.dir, []string{filepath.Join(o.dir, "load.test"), "-test.run=^$",
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

// control returns a function that runs dbtester control with one member of etcd, a process of its
// own. load is a line of the experiment file, with a verb for the number of requests.
func (o *memoryOptions) control(load string) func(context.Context, int) (footprint, error) {
	return func(ctx context.Context, requests int) (footprint, error) {
		return o.controlOf(ctx, fmt.Sprintf(load, requests))
	}
}

func (o *memoryOptions) controlOf(ctx context.Context, load string) (f footprint, err error) {
	dir, err := os.MkdirTemp(o.dir, "control-")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	member, err := o.startMember(ctx, dir)
	if err != nil {
		return f, err
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
`, filepath.Join(dir, "results"), load, member.endpoints[0])
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

const memberAddr = "127.96.0.1"

// startMember starts the etcd built into dbtester, alone.
func (o *memoryOptions) startMember(ctx context.Context, dir string) (*cluster, error) {
	c := &cluster{endpoints: []string{memberAddr + ":2379"}}
	client, peer := "http://"+c.endpoints[0], "http://"+memberAddr+":2380"
	cmd := exec.Command(o.dbtester, "serve", "etcd", "--name=memory", "--data-dir="+filepath.Join(dir, "data"),
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=memory="+peer,
		"--quota-backend-bytes=8000000000", "--logger=zap", "--log-level=error")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	c.members = append(c.members, cmd)
	if err := c.ready(ctx); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// loadEnd is when the only load of the only run under dir ended.
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
func sampled(ctx context.Context, dir string, argv []string) ([]sample, string, error) {
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
	var samples []sample
	for {
		select {
		case <-tick.C:
			samples = append(samples, sample{time.Now(), rssAnon(cmd.Process.Pid)})
		case err := <-done:
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, output.String())
			}
			return samples, output.String(), err
		}
	}
}

// printFootprints prints one row for each number of requests, with ratios to the
// number before.
func printFootprints(out io.Writer, sweeps []sweep) {
	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| load\t| requests\t| RssAnon at its end\t| to a tenth of the requests (span)\t| at most\t| to a tenth (span)\t|")
	fmt.Fprintln(w, "|---\t|---:\t|---\t|---\t|---\t|---\t|")
	end := func(f footprint) usage { return usage{anon: f.end} }
	peak := func(f footprint) usage { return usage{anon: f.peak} }
	for _, s := range sweeps {
		for i := range s.runs {
			fmt.Fprintf(w, "| %s\t| %d\t", s.name, s.requests[i])
			for _, of := range []func(footprint) usage{end, peak} {
				now := usages(s.runs[i], of)
				fmt.Fprintf(w, "| %.2f MB\t", median(now, anonOf))
				if i == 0 {
					fmt.Fprint(w, "|\t")
					continue
				}
				mid, lo, hi := ratio(now, usages(s.runs[i-1], of), anonOf)
				fmt.Fprintf(w, "| %.3f (%.3f-%.3f)\t", mid, lo, hi)
			}
			fmt.Fprintln(w, "|")
		}
	}
	w.Flush()
	fmt.Fprint(out, `
RssAnon as in /proc/PID/status, sampled every 20 ms; 1 MB is 10^6 bytes. "At most" is of the whole process, start and end included.

The null client does nothing: its process is the engine, the recorder and the records' files, at a rate that makes every load ten seconds long, or in a closed loop. Control writes 16-byte keys and 64-byte values with 100 clients on 10 connections to the built-in etcd, one member in a process of its own with its data in memory; its loads last as long as they take, so the larger has about ten times the seconds too. Two loads read and update 10,000 keys, half and half; in one the answer of each request is judged (consistency: true). The answers of reads are garbage, some 200 bytes each. It is collected after two seconds or more, and the more seconds a load takes, the more garbage the latest collection may have found: what the two have "at most" grows with that. The judge's own memory does not.

Two things keep it so: garbage is collected during a load once there are 128 KiB of it, which takes about nine seconds whatever the rate is, and what a load needs is garbage when its classic files are derived, which therefore takes no memory on top.
`)
}

// largestRatio is the largest of the medians that are printed.
func largestRatio(sweeps []sweep) (most float64) {
	for _, s := range sweeps {
		for i := 1; i < len(s.runs); i++ {
			for _, of := range []func(footprint) usage{func(f footprint) usage { return usage{anon: f.end} }, func(f footprint) usage { return usage{anon: f.peak} }} {
				mid, _, _ := ratio(usages(s.runs[i], of), usages(s.runs[i-1], of), anonOf)
				most = max(most, mid)
			}
		}
	}
	return most
}

func usages(runs []footprint, of func(footprint) usage) []usage {
	all := make([]usage, len(runs))
	for i, f := range runs {
		all[i] = of(f)
	}
	return all
}
