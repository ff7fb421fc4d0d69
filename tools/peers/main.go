// Command peers compares what dbtester costs its client machine with what public
// tools cost it, on the same cluster, in alternating runs, and prints one table of
// ratios. Run it by `make bench-peers`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "floor" {
		os.Exit(report(floor(os.Args[2:])))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(report(run(ctx, os.Args[1:], os.Stdout)))
}

func report(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "peers:", err)
	return 1
}

// options are what the runs have in common.
type options struct {
	dbtester    string
	pairs       int
	requests    int
	clients     int
	connections int
	dir         string // work directory
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	var o options
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.StringVar(&o.dbtester, "dbtester", "../../bin/dbtester", "the dbtester to compare")
	flags.IntVar(&o.pairs, "pairs", 6, "runs of each program")
	flags.IntVar(&o.requests, "requests", 100_000, "puts of one run")
	flags.IntVar(&o.clients, "clients", 1000, "concurrent clients")
	flags.IntVar(&o.connections, "connections", 100, "connections they share")
	dir := flags.String("dir", "/dev/shm", "where the cluster keeps its data: memory, so that no disk decides")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.dbtester, err = filepath.Abs(o.dbtester); err != nil {
		return err
	}
	if o.dir, err = os.MkdirTemp(*dir, "dbtester-peers-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	tool := filepath.Join(o.dir, "benchmark")
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", tool, "go.etcd.io/etcd/v3/tools/benchmark").CombinedOutput(); err != nil {
		return fmt.Errorf("build etcd's benchmark: %w\n%s", err, text)
	}
	cluster, err := startEtcd(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.stop()) }()
	rows, err := compare(ctx, o, cluster, tool)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "# Client cost beside other tools\n\n")
	fmt.Fprintf(out, "%d puts of a 256-byte key and a 1 KiB value by %d clients on %d connections; three members of etcd %s on loopback, data in %s.\n",
		o.requests, o.clients, o.connections, cluster.version, *dir)
	fmt.Fprintf(out, "%d runs of each, in turn; medians. %s, %d processors, %s/%s, %s.\n\n",
		o.pairs, cpuModel(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, time.Now().UTC().Format(time.DateOnly))
	printTable(out, o, rows)
	return nil
}

// compare runs every program o.pairs times, in turn.
func compare(ctx context.Context, o options, c *cluster, tool string) ([]row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(o.dir, "experiment.yaml")
	rows := []row{
		{name: "etcd benchmark", argv: []string{
			tool, "--endpoints=" + strings.Join(c.endpoints, ","), fmt.Sprintf("--conns=%d", o.connections), fmt.Sprintf("--clients=%d", o.clients),
			"put", "--key-size=256", "--val-size=1024", fmt.Sprintf("--total=%d", o.requests), "--sequential-keys", fmt.Sprintf("--key-space-size=%d", o.requests),
		}},
		{name: "dbtester control", argv: []string{o.dbtester, "control", "--config", config}},
		{name: "clientv3 alone", argv: []string{
			self, "floor", "-endpoints", strings.Join(c.endpoints, ","), "-requests", fmt.Sprint(o.requests),
			"-clients", fmt.Sprint(o.clients), "-connections", fmt.Sprint(o.connections),
		}},
	}
	if err := os.WriteFile(config, []byte(experiment(o, c)), 0o644); err != nil {
		return nil, err
	}
	for pair := range o.pairs {
		for i := range rows {
			u, err := measure(ctx, o.dir, rows[i].argv)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", rows[i].name, err)
			}
			rows[i].runs = append(rows[i].runs, u)
			fmt.Fprintf(os.Stderr, "pair %d: %-16s %6.2f CPU s, %6.2f s, RssAnon %3d MB, peak RSS %3d MB\n",
				pair+1, rows[i].name, u.cpu.Seconds(), u.wall.Seconds(), u.anon>>20, u.peak>>20)
		}
	}
	return rows, nil
}

// experiment is dbtester's file for the same load on the running cluster.
func experiment(o options, c *cluster) string {
	return fmt.Sprintf(`title: peers
results: %s
load: {operation: write, requests: %d, clients: %d, connections: %d, key_size: 256, value_size: 1024}
databases:
  etcd:
    endpoints: [%s]
    steps: {start: false, stop: false}
`, filepath.Join(o.dir, "results"), o.requests, o.clients, o.connections, strings.Join(c.endpoints, ", "))
}
