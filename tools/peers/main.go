// Command peers compares dbtester's cost on its client machine with the cost of public tools, on
// the same servers, in alternating runs, and prints tables of ratios. Run it with `make
// bench-peers`.
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
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(report(dispatch(ctx, os.Args[1:])))
}

// dispatch runs the comparison that the first argument names. The comparisons start
// the floors as processes of their own.
func dispatch(ctx context.Context, args []string) error {
	verb := ""
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	switch verb {
	case "etcd":
		return compareEtcd(ctx, args, os.Stdout)
	case "http":
		return compareHTTP(ctx, args, os.Stdout)
	case "databases":
		return measureDatabases(ctx, args, os.Stdout)
	case "memory":
		return memory(ctx, args, os.Stdout)
	case "floor-etcd":
		return floorEtcd(args)
	case "floor-http":
		return floorHTTP(args)
	}
	return fmt.Errorf("%q is not etcd, http, databases or memory", verb)
}

func report(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "peers:", err)
	return 1
}

// options are common to all runs of a comparison.
type options struct {
	dbtester    string
	pairs       int // runs of each program
	requests    int // of one run
	clients     int
	connections int
	keepalive   bool   // renewals of leases in place of puts
	data        string // where the work directory is made; "" is the usual place
	dir         string // work directory
}

// prepare reads the flags and makes the work directory.
func (o *options) prepare(flags *flag.FlagSet, args []string) (err error) {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.dbtester, err = filepath.Abs(o.dbtester); err != nil {
		return err
	}
	o.dir, err = os.MkdirTemp(o.data, "dbtester-peers-")
	return err
}

// mostRenewal is the most that a renewal of a lease may cost, as a part of what it costs clientv3.
const mostRenewal = 0.3

// compareEtcd compares the cost of a put, or of a renewal of a lease, with that of etcd's own tools.
func compareEtcd(ctx context.Context, args []string, out io.Writer) (err error) {
	var o options
	flags := flag.NewFlagSet("etcd", flag.ContinueOnError)
	flags.StringVar(&o.dbtester, "dbtester", "../../bin/dbtester", "the dbtester to compare")
	flags.IntVar(&o.pairs, "pairs", 10, "runs of each program")
	flags.IntVar(&o.requests, "requests", 200_000, "puts of one run")
	flags.IntVar(&o.clients, "clients", 1000, "concurrent clients")
	flags.IntVar(&o.connections, "connections", 100, "connections they share")
	flags.BoolVar(&o.keepalive, "keepalive", false, "renew leases, one for each client, in place of puts")
	flags.StringVar(&o.data, "data", "/dev/shm", "where the cluster keeps its data: memory, so that no disk decides")
	if err := o.prepare(flags, args); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	tool := filepath.Join(o.dir, "benchmark")
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", tool, "go.etcd.io/etcd/v3/tools/benchmark").CombinedOutput(); err != nil {
		return fmt.Errorf("build etcd's benchmark: %w\n%s", err, text)
	}
	cluster, err := newCluster(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.stop()) }()
	rows, err := etcdRows(o, cluster, tool)
	if err != nil {
		return err
	}
	// What a cluster has stored makes its next puts slower, and fills the memory.
	if err := alternate(ctx, o, rows, func() error { return cluster.renew(ctx) }); err != nil {
		return err
	}
	title, each, what := "Puts to etcd", "put", "puts of a 256-byte key and a 1 KiB value"
	if o.keepalive {
		title, each, what = "Renewals of etcd's leases", "renewal", "renewals of leases, each in a stream of its own, as KeepAliveOnce sends them,"
	}
	fmt.Fprintf(out, "## %s\n\n", title)
	fmt.Fprintf(out, "%d %s by %d clients on %d connections; three members of etcd %s on loopback, started anew for each turn, data in %s.\n",
		o.requests, what, o.clients, o.connections, cluster.version, o.data)
	versions, err := peerVersions(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d runs of each, in turn; medians. %s; %s.\n\n", o.pairs, versions, o.conditions())
	printTable(out, each, rows)
	explain(out, each)
	if o.keepalive {
		cost, lo, hi := ratio(rows[1].runs, rows[2].runs, cpuOf)
		fmt.Fprintf(out, "A renewal costs %s (%s-%s) of what it costs clientv3 alone; at most %.1f.\n", times(cost), times(lo), times(hi), mostRenewal)
		if cost > mostRenewal {
			return fmt.Errorf("a renewal costs %s of what it costs clientv3 alone, at most %.1f", times(cost), mostRenewal)
		}
	}
	return nil
}

// etcdRows are the programs that put, or renew leases.
func etcdRows(o options, c *cluster, tool string) ([]row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(o.dir, "experiment.yaml")
	if err := os.WriteFile(config, []byte(experiment(o, c)), 0o644); err != nil {
		return nil, err
	}
	load := []string{"put", "--key-size=256", "--val-size=1024", fmt.Sprintf("--total=%d", o.requests), "--sequential-keys", fmt.Sprintf("--key-space-size=%d", o.requests)}
	if o.keepalive {
		load = []string{"lease-keepalive", fmt.Sprintf("--total=%d", o.requests)}
	}
	return []row{
		{name: "etcd benchmark", argv: append([]string{
			tool, "--endpoints=" + strings.Join(c.endpoints, ","), fmt.Sprintf("--conns=%d", o.connections), fmt.Sprintf("--clients=%d", o.clients),
		}, load...)},
		{name: "dbtester control", argv: []string{o.dbtester, "control", "--full-speed", "--config", config}},
		{name: "clientv3 alone", argv: []string{
			self, "floor-etcd", "-endpoints", strings.Join(c.endpoints, ","), "-requests", fmt.Sprint(o.requests),
			"-clients", fmt.Sprint(o.clients), "-connections", fmt.Sprint(o.connections), fmt.Sprintf("-keepalive=%v", o.keepalive),
		}},
	}, nil
}

// experiment is dbtester's file for the same load on the running cluster.
func experiment(o options, c *cluster) string {
	operation := "operation: write"
	if o.keepalive {
		operation = fmt.Sprintf("operation: keepalive, sessions: %d", o.clients)
	}
	return fmt.Sprintf(`title: peers
results: %s
load: {%s, requests: %d, clients: %d, connections: %d, key_size: 256, value_size: 1024}
databases:
  etcd:
    endpoints: [%s]
    steps: {start: false, stop: false}
`, filepath.Join(o.dir, "results"), operation, o.requests, o.clients, o.connections, strings.Join(c.endpoints, ", "))
}
