// Command watchers has many watchers on etcd and ZooKeeper hear of writes. It compares the reports
// of dbtester with the counter of the store, with a watcher that shares no code with it, with its
// memory by the kernel account, and with a second process that writes. Run it with `make watchers`.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/coreos/dbtester/tools/experiment"
)

func main() { experiment.Main("watchers", watchers) }

func watchers(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("watchers", flag.ContinueOnError)
	program := flags.String("dbtester", "bin/dbtester", "the program")
	only := flags.String("only", "", "names of trials, separated by commas")
	memory := flags.String("dir", "/dev/shm", "directory for the members' data: in memory, so that no disk decides")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(*memory, "watchers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	version, err := experiment.Version(ctx, *program)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "# Watchers\n\nWhat dbtester reports of many watchers, beside etcd's own counter, a watcher of ZooKeeper that shares no code with it, the kernel's account of its memory, and a second process that writes. Members, load and watchers share one machine with %d processors, %s; data is in memory. Made by `make watchers` with %s and ZooKeeper %s.\n",
		runtime.NumCPU(), experiment.Busy("before"), version, experiment.ZooKeeperRelease)
	return experiment.Trials(ctx, *program, dir, *only, []experiment.Trial{million(), kept(), beside(*program), raw()}, out, progress)
}
