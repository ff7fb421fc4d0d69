// Command discovery compares when all consumers of a service knew that an instance had died, as
// dbtester records it, with the observations of a prober that shares no code with it. The prober
// watches the same instances through every member of etcd, ZooKeeper and Consul by these stores'
// own client libraries, and reads the records by itself. Run it with `make discovery`. With -alive
// it keeps instances alive beside a load for a long time, in all stores at once, and counts those
// that are declared dead: `make no-flap`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/coreos/dbtester/tools/experiment"
)

func main() { experiment.Main("discovery", discovery) }

func stores() []store {
	return []store{
		{"etcd", "etcd: {tag: it}", "127.0.11.", 2379, followEtcd},
		{"zookeeper", "zookeeper: {" + experiment.ZooKeeper + ", tag: it, options: {java_xms: 256M, java_xmx: 256M}}", "127.0.12.", 2181, followZooKeeper},
		{"consul", "consul: {" + experiment.Consul + ", tag: it}", "127.0.13.", 8500, followConsul},
		{"consul-services", "consul: {" + experiment.Consul + ", tag: it, discovery: {registry: services}}", "127.0.14.", 8500, followServices},
	}
}

// dying is an experiment whose instances die.
const dying = `title: discovery
hosts: [%s1, %s2, %s3]
load: {duration: %v, rate: %d}
scenario: {name: service-discovery, instances: %d, consumers: 9, notice: %v, deaths: %d, deploys: %d, after: %v, within: %v}
databases:
  %s
`

// calm is the time before the first death.
func (o options) calm() time.Duration { return max(o.alive, calm) }

func discovery(ctx context.Context, args []string, out, progress io.Writer) error {
	var o options
	flags := flag.NewFlagSet("discovery", flag.ContinueOnError)
	flags.StringVar(&o.program, "dbtester", "bin/dbtester", "the program")
	flags.IntVar(&o.deaths, "n", 100, "deaths in each store")
	flags.DurationVar(&o.notice, "notice", 20*time.Second, "time in which all are to know of a death")
	flags.DurationVar(&o.within, "within", 15*time.Second, "time in which the instances of a batch die")
	flags.DurationVar(&o.tolerance, "tolerance", 10*time.Millisecond, "how far the two may be apart")
	flags.StringVar(&o.only, "only", "", "one store")
	flags.DurationVar(&o.alive, "alive", 0, "time before the first death in which instances are only kept alive; then living ones that are declared dead are all that is judged, and deaths show that the prober sees them")
	flags.IntVar(&o.living, "living", 20, "instances that do not die")
	flags.IntVar(&o.rate, "rate", 20, "requests of the load in a second")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "discovery-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	busy := experiment.Busy("before")
	list := o.measure(ctx, dir, progress)
	done := slices.DeleteFunc(slices.Clone(list), func(v verdict) bool { return v.failed != nil })
	if o.alive > 0 {
		reportAlive(out, busy, o, len(list), done)
	} else {
		report(out, busy, o, done)
	}
	reportFailed(out, list)
	var errs []error
	for _, v := range list {
		errs = append(errs, v.err(o))
	}
	return errors.Join(errs...)
}

// measure returns a verdict for each store. One that fails does not keep the others from their
// runs.
func (o options) measure(ctx context.Context, dir string, progress io.Writer) []verdict {
	chosen := slices.DeleteFunc(stores(), func(s store) bool { return o.only != "" && o.only != s.name })
	list := make([]verdict, len(chosen))
	var running sync.WaitGroup
	var printing sync.Mutex
	for i, s := range chosen {
		measured := running.Go // at once
		if o.alive == 0 {
			measured = func(f func()) { f() }
		}
		measured(func() {
			list[i] = s.measure(ctx, o, filepath.Join(dir, s.name))
			printing.Lock()
			defer printing.Unlock()
			fmt.Fprintf(progress, "%s: %s\n", s.name, list[i].text())
		})
	}
	running.Wait()
	return list
}

// measure makes runs until enough instances have died.
func (s store) measure(ctx context.Context, o options, dir string) verdict {
	all := verdict{name: s.name, tolerance: o.tolerance}
	for left := o.deaths; left > 0; left -= batch {
		v, err := s.once(ctx, o, min(left, batch), dir)
		if err != nil {
			all.failed = err
			break
		}
		all.add(v)
	}
	return all
}

// once runs an experiment while the prober watches, and compares the two.
func (s store) once(ctx context.Context, o options, deaths int, dir string) (verdict, error) {
	defer os.RemoveAll(dir)
	deploys := deaths / 10
	text := fmt.Sprintf(dying, s.network, s.network, s.network, o.calm()+o.within+o.notice+margin, o.rate,
		o.living+deaths+deploys, o.notice, deaths, deploys, o.calm(), o.within, s.lines)
	p := probe(ctx, s)
	path, err := experiment.Run(ctx, o.program, dir, text, "manifest.json")
	seen := p.stop()
	if err != nil {
		return verdict{}, err
	}
	r, err := read(path)
	if err != nil {
		return verdict{}, err
	}
	return compare(s.name, o, r, seen), nil
}
