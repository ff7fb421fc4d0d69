// Command handoffs has locks in etcd, ZooKeeper and Consul change hands many times, by each recipe,
// and judges every turn by itself: whether two held one lock, and whether fences grew. It shares no
// code with dbtester and reads the turn records. Run it with `make hand-offs`.
package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/coreos/dbtester/tools/experiment"
)

func main() { experiment.Main("handoffs", handOffs) }

// recipe is a way to take locks in a database: how its experiment names it, and the number of
// locks.
type recipe struct {
	database, name, keys string
	locks                int
}

func recipes() []recipe {
	const (
		zookeeper = experiment.ZooKeeper + ", options: {java_xms: 512M, java_xmx: 512M}, "
		consul    = experiment.Consul + ", "
	)
	return []recipe{
		{"etcd", "library", "", 150}, // each hand-off waits for a tick every 100 ms
		{"etcd", "direct", "", 50},
		{"zookeeper", "library", zookeeper, 50},
		{"zookeeper", "direct", zookeeper, 50},
		{"consul", "library", consul, 50},
		{"consul", "direct", consul, 50},
	}
}

// With many names and few contenders each, a slow hand-off does not hold up the others.
const locks = `title: hand-offs
hosts: [127.0.2.1, 127.0.2.2, 127.0.2.3]
load: {operation: update, keys: 100, rate: 10, duration: %v, clients: 5, key_size: 32, value_size: 64, timeout: 10s}
locks: {names: %d, contenders: [2, 3, 4], hold: 0s, ttl: 20s, recipe: %s}
databases:
  %s: {%stag: it}
`

// count sums up the turns by a recipe.
type count struct{ rounds, handOffs, overlaps, disorder, other int }

func (c *count) add(o count) {
	c.rounds, c.handOffs, c.overlaps = c.rounds+o.rounds, c.handOffs+o.handOffs, c.overlaps+o.overlaps
	c.disorder, c.other = c.disorder+o.disorder, c.other+o.other
}

func handOffs(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("handoffs", flag.ContinueOnError)
	program := flags.String("dbtester", "bin/dbtester", "the program")
	least := flags.Int("n", 100_000, "hand-offs of each store, half by each recipe")
	round := flags.Duration("round", 100*time.Second, "length of a round; a quarter of it has no contenders")
	rounds := flags.Int("rounds", 20, "rounds of a recipe, at most")
	if err := flags.Parse(args); err != nil {
		return err
	}
	each := (*least + 1) / 2
	dir, err := os.MkdirTemp("", "handoffs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(out, "# Hand-offs of locks\n\nLocks of three members each, on one machine: many locks with two to four contenders each, which hold a lock for no time, until there were %d hand-offs by each of two recipes. Each turn of `turns.csv` was judged by a program that shares no code with dbtester. Held twice: the lock was acquired before the holder before it was about to release it. Fences out of order: a fence is not greater than that of the holder before. Other turns failed, were lost or are unclear. Made by `make hand-offs`.\n\n| database | recipe | rounds | hand-offs | held twice | fences out of order | other turns |\n|---|---|---|---|---|---|---|\n", each)
	var errs []error
	for _, r := range recipes() {
		var all count
		for all.handOffs < each && all.rounds < *rounds && ctx.Err() == nil {
			text := fmt.Sprintf(locks, *round, r.locks, r.name, r.database, r.keys)
			c, err := measure(ctx, *program, filepath.Join(dir, fmt.Sprint(r.database, r.name, all.rounds)), text)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", r.database, r.name, err)
			}
			all.add(c)
			fmt.Fprintf(progress, "%s, %s: %+v\n", r.database, r.name, all)
		}
		fmt.Fprintf(out, "| %s | %s | %d | %d | %d | %d | %d |\n", r.database, r.name, all.rounds, all.handOffs, all.overlaps, all.disorder, all.other)
		if all.handOffs < each || all.overlaps+all.disorder > 0 {
			errs = append(errs, fmt.Errorf("%s, %s: %d hand-offs of %d, %d held twice, %d fences out of order", r.database, r.name, all.handOffs, each, all.overlaps, all.disorder))
		}
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// measure runs an experiment once and judges its turns.
func measure(ctx context.Context, program, dir, text string) (count, error) {
	defer os.RemoveAll(dir)
	table, err := experiment.Run(ctx, program, dir, text, filepath.Join("it", "turns.csv"))
	if err != nil {
		return count{}, err
	}
	f, err := os.Open(table)
	if err != nil {
		return count{}, err
	}
	defer f.Close()
	c, err := judge(f)
	if err != nil {
		return c, fmt.Errorf("read %s: %w", table, err)
	}
	return c, nil
}

// turn is a lock that was held.
type turn struct{ acquired, sent, fence int64 }

// judge judges the turns in a table.
func judge(table io.Reader) (count, error) {
	c := count{rounds: 1}
	r := csv.NewReader(table)
	header, err := r.Read()
	if err != nil {
		return c, err
	}
	column := map[string]int{}
	for _, name := range []string{"stage", "name", "acquired_ns", "sent_ns", "fence", "end"} {
		if column[name] = slices.Index(header, name); column[name] < 0 {
			return c, fmt.Errorf("the table must have the column %s, got %q", name, header)
		}
	}
	held := map[string][]turn{}
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return c, err
		}
		end := fields[column["end"]]
		if end == "waiting" {
			continue
		}
		if end != "released" {
			c.other++
		}
		var n [3]int64
		for i, name := range [...]string{"acquired_ns", "sent_ns", "fence"} {
			if n[i], err = strconv.ParseInt(fields[column[name]], 10, 64); err != nil {
				return c, err
			}
		}
		if n[0] > 0 {
			lock := fields[column["stage"]] + "/" + fields[column["name"]]
			held[lock] = append(held[lock], turn{n[0], n[1], n[2]})
		}
	}
	for _, turns := range held {
		slices.SortFunc(turns, func(a, b turn) int { return cmp.Or(cmp.Compare(a.acquired, b.acquired), cmp.Compare(a.fence, b.fence)) })
		last := turns[0]
		for i, t := range turns[1:] {
			c.handOffs++
			if t.acquired < last.sent {
				c.overlaps++
			}
			if t.fence <= turns[i].fence {
				c.disorder++
			}
			if t.sent > last.sent {
				last = t
			}
		}
	}
	return c, nil
}
