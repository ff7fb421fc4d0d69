// Command causes plants causes of slow answers in three members of etcd, ZooKeeper and Consul, and
// counts how often reports name them, and how often they name something else. It knows reports as
// programs do, by their JSON. Run it with `make causes`, as root.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/coreos/dbtester/tools/experiment"
)

func main() { experiment.Main("causes", causes) }

// store is a database, as experiments name it.
type store struct{ name, lines string }

func stores() []store {
	return []store{
		{"etcd", "etcd: {}"},
		{"zookeeper", "zookeeper: {" + experiment.ZooKeeper + ", options: {java_xms: 256M, java_xmx: 256M}}"},
		{"consul", "consul: {" + experiment.Consul + "}"},
	}
}

// cause is what is planted: lines of an experiment with a number of clients, and the name that
// reports have for it, "" for none.
type cause struct {
	planted, name string
	clients       int
	lines         string
}

func planted() []cause {
	return []cause{
		{"nothing", "", 1, ""},
		{"0.25 processors for each member", "quota", 8, "resources: {cpus: 0.25}\n"},
		{"fsync 10 ms longer, of all members", "fsync", 1, "probe: 0s\nfaults:\n- {kind: disk, member: all, at: 2050ms, for: 16s, fsync: 10ms}\n"},
		{"packets of the leader from and to others 5 ms later", "peers", 1, "probe: 0s\nfaults:\n- {kind: delay, member: leader, from: members, at: 2050ms, for: 16s, by: 5ms}\n"},
	}
}

// slow is an experiment. Causes that are faults last for nearly all of the measured part, and the
// load recovers behind it. Clients go to the leader, so that nothing is forwarded.
const slow = `title: causes
hosts: [127.0.4.1, 127.0.4.2, 127.0.4.3]
load: {operation: write, duration: 24s, warm_up: 2s, cool_down: 7s, clients: %d, key_size: 32, value_size: 256, target: leader, timeout: 5s}
%sdatabases:
  %s
`

// series are the runs of a store with a cause.
type series struct {
	store
	cause
	results []result
	failed  []string
}

// result is what the report of a run names.
type result struct {
	named, partly []string
	unexplained   float64 // percent
}

// causes makes all runs in turn, so that an interruption leaves as many of each.
func causes(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("causes", flag.ContinueOnError)
	program := flags.String("dbtester", "bin/dbtester", "the program")
	n := flags.Int("n", 20, "runs of each store with each cause")
	only := flags.String("only", "", "one store")
	memory := flags.String("dir", "/dev/shm", "directory for the members' data: in memory, so that no disk is a cause")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(*memory, "causes-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var all []*series
	for _, s := range stores() {
		for _, c := range planted() {
			if *only == "" || *only == s.name {
				all = append(all, &series{store: s, cause: c})
			}
		}
	}
	for i := range *n * len(all) {
		s := all[i%len(all)]
		r, err := s.run(ctx, *program, filepath.Join(dir, "run"))
		if ctx.Err() != nil {
			break // with what there is
		}
		if err != nil {
			s.failed = append(s.failed, err.Error())
			fmt.Fprintf(progress, "run %d: %s, %s: failed: %v\n", i/len(all)+1, s.store.name, s.planted, err)
			continue
		}
		s.results = append(s.results, r)
		fmt.Fprintf(progress, "run %d: %s, %s: named %v, partly %v, unexplained %.0f %%\n", i/len(all)+1, s.store.name, s.planted, r.named, r.partly, r.unexplained)
	}
	report(out, all)
	return judge(all)
}

// run makes a run and its report.
func (s *series) run(ctx context.Context, program, dir string) (result, error) {
	defer os.RemoveAll(dir)
	manifest, err := experiment.Run(ctx, program, dir, fmt.Sprintf(slow, s.clients, s.cause.lines, s.store.lines), "manifest.json")
	if err != nil {
		return result{}, err
	}
	text, err := exec.CommandContext(ctx, program, "analyze", "--format", "json", filepath.Dir(manifest)).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(text) == 0 {
		return result{}, fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return read(text)
}

// read reads what a report names.
func read(text []byte) (r result, err error) {
	var all struct {
		Marks    []struct{ Code, Text string }
		Headline struct {
			Why *struct {
				Databases []struct {
					Causes []struct{ Name, Verdict string }
				}
			}
		}
		Table struct {
			Rows []struct {
				Name  string
				Cells []struct{ Value *float64 }
			}
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return r, err
	}
	for _, m := range all.Marks {
		if m.Code == "fault failed" {
			return r, errors.New(m.Text)
		}
	}
	if all.Headline.Why == nil || len(all.Headline.Why.Databases) != 1 {
		return r, errors.New("the report does not explain the response times of one database")
	}
	of := all.Headline.Why.Databases[0]
	for _, c := range of.Causes {
		if c.Verdict == "named" {
			r.named = append(r.named, c.Name)
		} else {
			r.partly = append(r.partly, c.Name)
		}
	}
	for _, row := range all.Table.Rows {
		if row.Name == "LEDGER-UNEXPLAINED" && len(row.Cells) == 1 && row.Cells[0].Value != nil {
			r.unexplained = *row.Cells[0].Value
			return r, nil
		}
	}
	return r, errors.New("the report has no ledger")
}

// counts are what the results of a series come to.
type counts struct {
	named, partly, none int // of the planted cause; none: nothing at all
	others              []string
	unexplained         []float64
}

func (s *series) counts() (c counts) {
	for _, r := range s.results {
		switch {
		case s.cause.name != "" && slices.Contains(r.named, s.cause.name):
			c.named++
		case s.cause.name != "" && slices.Contains(r.partly, s.cause.name):
			c.partly++
		case len(r.named)+len(r.partly) == 0:
			c.none++
		}
		for _, name := range slices.Concat(r.named, r.partly) {
			if name != s.cause.name {
				c.others = append(c.others, name)
			}
		}
		c.unexplained = append(c.unexplained, r.unexplained)
	}
	return c
}

// right is the number of results that are as they must be.
func (s *series) right() int {
	c := s.counts()
	if s.cause.name == "" {
		return c.none
	}
	return c.named
}
