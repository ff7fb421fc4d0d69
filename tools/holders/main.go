// Command holders lets holders of sessions and locks of etcd, ZooKeeper and Consul die, go on, or be
// stopped, and compares what dbtester reports with each store's rule and with the store's own counter.
// It shares no code with dbtester and reads the records by itself. Run it with `make holders`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/coreos/dbtester/tools/experiment"
)

func main() { experiment.Main("holders", holders) }

// trial is an experiment, and what its records must show.
type trial struct {
	name  string // a word for -only
	title string
	text  string // the experiment below its title
	// beside runs while the experiment does, nil for nothing. It reads the events of the run.
	beside func(ctx context.Context, control *os.Process, dir string)
	judge  func(r *records) []finding
	// members and generators are hosts of agents that are started for the trial. Without them, control
	// has the agents of its members.
	members, generators []string
}

// finding is a number of a run beside its bar.
type finding struct {
	what, measured, bar string
	met                 bool
}

// trials are all of them. Stretch is for how long sessions are held that nobody lets die.
func trials(stretch time.Duration) []trial {
	return []trial{
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
	var errs []error
	for _, t := range trials(*stretch) {
		if *only != "" && !strings.Contains(","+*only+",", ","+t.name+",") {
			continue
		}
		began := time.Now()
		list, err := t.run(ctx, *program, filepath.Join(dir, t.name))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", t.name, err))
			fmt.Fprintf(out, "\n## %s\n\nFailed: %s\n", t.title, strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			t.report(out, list)
		}
		fmt.Fprintf(progress, "%s: %.0f s, %+v, %v\n", t.name, time.Since(began).Seconds(), list, err)
		for _, f := range list {
			if !f.met {
				errs = append(errs, fmt.Errorf("%s: %s: %s, the bar is %s", t.name, f.what, f.measured, f.bar))
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// run makes a run and judges its records.
func (t trial) run(ctx context.Context, program, dir string) (list []finding, err error) {
	defer os.RemoveAll(dir)
	control := experiment.Control{Program: program, Dir: dir, Text: "title: " + t.name + "\n" + t.text, Agents: len(t.members) > 0}
	if t.beside != nil {
		control.Beside = func(ctx context.Context, control *os.Process) { t.beside(ctx, control, dir) }
	}
	var agents experiment.Agents
	defer func() { err = errors.Join(err, agents.Stop()) }()
	if err := errors.Join(agents.Start(program, dir, t.members), agents.Start(program, dir, t.generators, "--allow-load")); err != nil {
		return nil, err
	}
	manifest, err := control.Run(ctx, "manifest.json")
	if err != nil {
		return nil, err
	}
	r, err := read(manifest)
	if err != nil {
		return nil, err
	}
	return t.judge(r), nil
}

// report prints a table.
func (t trial) report(out io.Writer, list []finding) {
	fmt.Fprintf(out, "\n## %s\n\n| | measured | bar | |\n|---|---|---|---|\n", t.title)
	for _, f := range list {
		word := "met"
		if !f.met {
			word = "**missed**"
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", f.what, f.measured, f.bar, word)
	}
}

// exactly is a count that must be a number.
func exactly(what string, got, want int64) finding {
	return finding{what, fmt.Sprint(got), fmt.Sprint(want), got == want}
}

// within is a time that must lie between two, in seconds.
func within(what string, got spread, least, most float64) finding {
	return finding{
		fmt.Sprintf("%s: least, p50, p99, most (%d)", what, got.N), fmt.Sprintf("%.3f, %.3f, %.3f, %.3f s", got.least, sec(got.P50), sec(got.P99), sec(got.Max)),
		fmt.Sprintf("%.3f to %.3f s", least, most), got.N > 0 && got.least >= least && sec(got.Max) <= most,
	}
}

// sec is nanoseconds in seconds.
func sec(ns int64) float64 { return float64(ns) / 1e9 }
