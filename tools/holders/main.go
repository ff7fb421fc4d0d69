// Command holders lets holders of sessions and locks in etcd, ZooKeeper and Consul die, live on, or
// be stopped, and compares the reports by dbtester with the rule and the counter of each store. It
// shares no code with dbtester and reads the records by itself. Run it with `make holders`.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/coreos/dbtester/tools/experiment"
)

func main() { experiment.Main("holders", holders) }

// trials returns all trials. stretch is the time for which sessions with living holders are kept.
func trials(stretch time.Duration) []experiment.Trial {
	return []experiment.Trial{
		manyLeases(), steadyLeases(), ticks(2000), ticks(500), twice(), leaderKilled(), stoppedClient(), heldOn(stretch),
		recipes(), generators(), stoppedHolders("etcd"), stoppedHolders("zookeeper"), failOver(),
	}
}

func holders(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("holders", flag.ContinueOnError)
	program := flags.String("dbtester", "bin/dbtester", "the program")
	only := flags.String("only", "", "names of trials, separated by commas")
	memory := flags.String("dir", "/dev/shm", "directory for the members' data: in memory, so that no disk decides")
	stretch := flags.Duration("stretch", 5*time.Minute, "for how long 10,000 sessions are held")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(*memory, "holders-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	version, err := experiment.Version(ctx, *program)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "# Holders of sessions and locks\n\nWhat dbtester reports of holders that die, go on or are stopped, beside each store's rule and, for etcd, its own counter. Members, load and holders share one machine with %d processors, %s; data is in memory. Made by `make holders` with %s, ZooKeeper %s and Consul %s.\n",
		runtime.NumCPU(), experiment.Busy("before"), version, experiment.ZooKeeperRelease, experiment.ConsulRelease)
	return experiment.Trials(ctx, *program, dir, *only, trials(*stretch), out, progress)
}
