// Command watchers has many watchers of etcd and ZooKeeper hear of writes, and compares dbtester's
// reports with the store's own counter, with a watcher that shares no code with it, with the kernel's
// account of its memory, and with a second process that writes. Run it with `make watchers`.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/coreos/dbtester/tools/experiment"
)

func main() { experiment.Main("watchers", watchers) }

// All experiments run a server on each of members. hosts is their line in the experiment file.
var (
	members = []string{"127.0.17.1", "127.0.17.2", "127.0.17.3"}
	hosts   = "hosts: [" + strings.Join(members, ", ") + "]\n"
)

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

// outcome has the stages and the counts of the watchers of a run's only database.
type outcome struct {
	Stages []struct {
		Watchers int
		Start    time.Time
		Length   time.Duration `json:"length_ns"`
	}
	Counts struct {
		Writes, Unknown, Delivered, Coalesced, Woken, Lost, Duplicate, Reordered, Behind, Unjudged, Foreign, Gaps int64
	}
	Broken string
}

// wrong counts deliveries that were lost, incorrect, or could not be judged.
func (o outcome) wrong() int64 {
	c := o.Counts
	return c.Lost + c.Duplicate + c.Reordered + c.Behind + c.Unjudged + c.Gaps
}

// read reads the outcome from the manifest.
func read(manifest string) (o outcome, err error) {
	text, err := os.ReadFile(manifest)
	if err != nil {
		return o, err
	}
	var m struct {
		Databases []struct{ Watched outcome }
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return o, fmt.Errorf("read %s: %w", manifest, err)
	}
	if len(m.Databases) != 1 || len(m.Databases[0].Watched.Stages) == 0 {
		return o, fmt.Errorf("read %s: it must have one database with watchers", manifest)
	}
	o = m.Databases[0].Watched
	if o.Broken != "" {
		return o, fmt.Errorf("a connection broke: %s", o.Broken)
	}
	return o, nil
}
