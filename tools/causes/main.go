// Command causes plants causes for slow answers in three members of etcd, ZooKeeper and Consul, and
// counts how often reports name them, and how often they name something else. It keeps the facts
// about each run, makes only missing runs, and judges all runs by the current rules. Run it with
// `make causes`, as root.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coreos/dbtester/tools/experiment"
)

func main() { experiment.Main("causes", causes) }

// series holds the runs with a plant: those with facts, and why others failed. old counts runs with
// an experiment that has changed since.
type series struct {
	plant
	records  []record
	verdicts []verdict
	failed   []string
	old      int
}

// causes makes the missing runs for the chosen plants, and reports all plants.
func causes(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("causes", flag.ContinueOnError)
	program := flags.String("dbtester", "bin/dbtester", "the program")
	n := flags.Int("n", 20, "runs of each cause, with the stores in turn; 0 judges those that were made")
	keys := flags.String("causes", "", "the causes to plant, separated by spaces or commas; all without any")
	path := flags.String("records", "results/causes.jsonl", "file of the records of all runs")
	memory := flags.String("dir", "/dev/shm", "directory for the members' data: in memory, so that no disk is a cause")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *n < 0 {
		return fmt.Errorf("n must not be negative, got %d", *n)
	}
	wanted, err := chosen(strings.FieldsFunc(*keys, func(r rune) bool { return r == ' ' || r == ',' }))
	if err != nil {
		return err
	}
	kept, unread, err := readRecords(*path)
	if err != nil {
		return err
	}
	if unread > 0 {
		fmt.Fprintf(progress, "causes: %d lines of %s cannot be read, and are not counted\n", unread, *path)
	}
	all, parts, err := sorted(kept, wanted)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(*memory, "causes-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := complete(ctx, parts, *n, *path, maker{*program, dir}, progress); err != nil {
		return err
	}
	report(out, all, *n)
	return judge(parts, *n)
}

// sorted returns the series for all plants with their kept records, and the wanted ones among them.
func sorted(kept []record, wanted []plant) (all, parts []*series, err error) {
	for _, p := range plants() {
		s := &series{plant: p}
		for _, r := range kept {
			if r.Planted != p.key {
				continue
			}
			if err := s.add(r); err != nil {
				return nil, nil, err
			}
		}
		all = append(all, s)
		for _, w := range wanted {
			if w.key == p.key {
				parts = append(parts, s)
			}
		}
	}
	return all, parts, nil
}

// add adds a record, if the experiment has not changed since.
func (s *series) add(r record) error {
	for _, of := range s.stores {
		if of.name != r.Store || s.experiment(of) != r.Experiment {
			continue
		}
		if r.Failed != "" {
			s.failed = append(s.failed, r.Store+", "+r.Started.Format(time.DateOnly)+": "+r.Failed)
			return nil
		}
		v, err := r.judge()
		if err != nil {
			return fmt.Errorf("the record of %s with %s of %v: %w", r.Store, r.Planted, r.Started, err)
		}
		s.records, s.verdicts = append(s.records, r), append(s.verdicts, v)
		return nil
	}
	s.old++
	return nil
}

// missing returns the store for each missing run. The n runs are divided between the stores.
func (s *series) missing(n int) (list []store) {
	made := map[string]int{}
	for _, r := range s.records {
		made[r.Store]++
	}
	for i := range n {
		of := s.stores[i%len(s.stores)]
		if made[of.name]--; made[of.name] < 0 {
			list = append(list, of)
		}
	}
	return list
}

// maker makes runs by a program, below a folder.
type maker struct{ program, dir string }

// complete makes each missing run once. It takes the series in turn, so an interruption leaves
// about as many runs in each.
func complete(ctx context.Context, parts []*series, n int, path string, m maker, progress io.Writer) error {
	missing, left := make([][]store, len(parts)), 0
	for i, s := range parts {
		missing[i] = s.missing(n)
		left += len(missing[i])
	}
	for turn := 0; left > 0; turn++ {
		for i, s := range parts {
			if turn >= len(missing[i]) {
				continue
			}
			of, begun := missing[i][turn], time.Now()
			r, err := m.run(ctx, s.plant, of)
			if ctx.Err() != nil {
				return nil // an interrupt: the kept records are reported
			}
			left--
			r.Planted, r.Store, r.Experiment = s.key, of.name, s.experiment(of)
			if err != nil {
				r.Started, r.Failed, r.Facts = begun.UTC(), err.Error(), nil
			}
			if err := r.keep(path); err != nil {
				return err
			}
			if err := s.add(r); err != nil {
				return err
			}
			fmt.Fprintf(progress, "%s, %s: %s%s; %.0f s, %d left\n", s.key, of.name, r.Verdict, r.Failed, time.Since(begun).Seconds(), left)
		}
	}
	return nil
}

// run makes a run and reads it.
func (m maker) run(ctx context.Context, p plant, of store) (record, error) {
	dir := filepath.Join(m.dir, "run")
	defer os.RemoveAll(dir)
	control := experiment.Control{Program: m.program, Dir: dir, Text: p.experiment(of)}
	conduct := control.Run
	if p.squeezed {
		conduct = squeezed(control).run
	}
	manifest, err := conduct(ctx, "manifest.json")
	if err != nil {
		return record{}, err
	}
	return recordOf(filepath.Dir(manifest))
}
