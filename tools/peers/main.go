// Command peers compares dbtester's cost on its client machine with public tools' cost, on the same
// servers, in alternating runs, and prints tables with ratios. Run it with `make bench-peers` and
// `make bench-memory`.
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
	"slices"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(report(dispatch(ctx, os.Args[1:])))
}

// dispatch runs the command that the first argument names. The comparisons start the floors as
// separate processes.
func dispatch(ctx context.Context, args []string) error {
	verb := ""
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	switch verb {
	case "bench":
		return fill(ctx, args, "bench-peers", benchPage())
	case "memory":
		return fill(ctx, args, "bench-memory", memoryPage())
	case "etcd":
		return compareEtcd(ctx, args, os.Stdout)
	case "floor-put":
		return floorPut(args)
	case "floor-watch":
		return floorWatch(args)
	case "floor-etcd":
		return floorEtcd(args)
	case "floor-http":
		return floorHTTP(args)
	}
	return fmt.Errorf("%q is not bench, memory or etcd", verb)
}

func report(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "peers:", err)
	return 1
}

// options are what all runs in a comparison share.
type options struct {
	dbtester string
	repo     string // dbtester's source
	pairs    int    // runs per program; 0 for a part's default
	data     string // where the work directory is made; "" is the usual place
	dir      string // work directory, empty until workIn
	load
}

// load describes the requests that the programs in a comparison make.
type load struct {
	requests    int // in one run
	clients     int
	connections int
	rate        int  // requests a second, 0 for a closed loop
	keepalive   bool // renew leases in place of puts
	watchers    int  // on one key; the requests are then their events, and the rate is for puts
}

// register declares the flags that all comparisons have.
func (o *options) register(flags *flag.FlagSet) {
	flags.StringVar(&o.dbtester, "dbtester", "../../bin/dbtester", "the dbtester to measure")
	flags.StringVar(&o.repo, "repo", "../..", "its source")
	flags.IntVar(&o.pairs, "pairs", 0, "runs of each program (default as the part has it)")
	flags.StringVar(&o.data, "data", "/dev/shm", "where servers keep their data: memory, so that no disk decides")
}

// resolve makes the paths independent of the working directory.
func (o *options) resolve() (err error) {
	if o.dbtester, err = filepath.Abs(o.dbtester); err != nil {
		return err
	}
	o.repo, err = filepath.Abs(o.repo)
	return err
}

// workIn calls a function with a work directory, which is then removed. pairs is how many pairs are
// run by default.
func (o options) workIn(pairs int, do func(options) error) (err error) {
	if o.pairs == 0 {
		o.pairs = pairs
	}
	if o.dir, err = os.MkdirTemp(o.data, "dbtester-peers-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	return do(o)
}

// build compiles a package in a folder and returns the path to the program.
func (o options) build(ctx context.Context, folder, pkg string) (string, error) {
	program := filepath.Join(o.dir, filepath.Base(pkg))
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, pkg)
	cmd.Dir = folder
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return program, nil
}

// compareEtcd compares what one load on etcd costs with what it costs with etcd's own tools.
func compareEtcd(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("etcd", flag.ContinueOnError)
	o.register(flags)
	flags.IntVar(&o.requests, "requests", 200_000, "puts of one run")
	flags.IntVar(&o.clients, "clients", 1000, "concurrent clients")
	flags.IntVar(&o.connections, "connections", 100, "connections they share")
	flags.IntVar(&o.rate, "rate", 0, "puts a second; 0 is a closed loop")
	flags.BoolVar(&o.keepalive, "keepalive", false, "renew leases, one for each client, in place of puts")
	flags.IntVar(&o.watchers, "watchers", 0, "watchers of one key, to which -rate puts a second bring -requests events")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := o.resolve(); err != nil {
		return err
	}
	title, programs := "Puts to etcd", allPrograms
	switch {
	case o.keepalive:
		title, programs = "Renewals of etcd's leases", renewing
	case o.watchers > 0:
		title, programs = "Events of etcd's watches", watching
	case o.rate > 0:
		programs = slices.DeleteFunc(slices.Clone(programs), func(p program) bool { return p.name == clientv3Name })
	}
	fmt.Fprintf(out, "## %s\n\n", title)
	return o.workIn(10, func(o options) error {
		rows, err := etcdLoad(ctx, o, out, programs)
		return errors.Join(err, missed(rows)) // rows for a load that puts have no bars
	})
}
