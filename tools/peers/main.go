// Command peers compares dbtester's cost on its client machine with that of public tools, on the same
// servers, in alternating runs, and prints tables of ratios. Run it with `make bench-peers` and
// `make bench-memory`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(report(dispatch(ctx, os.Args[1:])))
}

// dispatch runs the command the first argument names. The comparisons start the floors as separate
// processes.
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

// compareEtcd compares the cost of one load on etcd to dbtester and to the etcd tools.
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
