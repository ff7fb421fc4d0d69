package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/coreos/dbtester/pkg/sleep"
	"github.com/coreos/dbtester/tools/experiment"
)

// recipes: the etcd library waits for a tick every 100 ms, and the protocol does not need to. A
// tick serves a watch with the event it waits for, or from then on at once. So with two contenders
// every other hand-off waits for nearly a whole tick, and the one after it for nothing: the mean is
// judged, since the median is either.
func recipes() experiment.Trial {
	return experiment.Trial{
		Name: "recipes", Title: "etcd, one member: a lock of two contenders, held for 1 ms, by both recipes",
		Text: one + load(30*time.Second, 100) + "locks: {contenders: [2], hold: 1ms, ttl: 10s}\ndatabases:\n  etcd__library: {tag: library, locks: {recipe: library}}\n  etcd__direct: {tag: direct, locks: {recipe: direct}}\n",
		Judge: judged(func(r *records) (list []experiment.Finding) {
			for _, d := range r.Databases {
				s := d.Locks.Stages[0]
				least, most := 40.0, 100.0
				if d.Tag == "direct" {
					least, most = 0, 3
				}
				mean := 1000 * sec(s.HandOff.Mean)
				list = append(list,
					experiment.Found(fmt.Sprintf("%s: mean hand-off (p50, p99; %d)", d.Tag, s.HandOff.N), fmt.Sprintf("%.2f ms (%.2f, %.2f ms)", mean, 1000*sec(s.HandOff.P50), 1000*sec(s.HandOff.P99)), fmt.Sprintf("%.0f to %.0f ms", least, most), s.HandOff.N >= 100 && mean >= least && mean <= most),
					experiment.Exactly(d.Tag+": held twice, or fences out of order", s.Safety.Overlaps+s.Safety.Disorder, 0))
			}
			return list
		}),
	}
}

// How often, and when, holders are stopped for how long: longer than their sessions last.
const (
	stoppedNames = 5
	stoppedTimes = 2
	stoppedFor   = 9 * time.Second
)

// stoppedHolders: who is stopped past its TTL believes that it holds a lock which others may have.
func stoppedHolders(database string) experiment.Trial {
	entry := "{}"
	if database == "zookeeper" {
		entry = "{" + experiment.ZooKeeper + ", options: {java_xms: 512M, java_xmx: 512M}}"
	}
	return experiment.Trial{
		Name: "stopped-" + database, Title: fmt.Sprintf("%s, three members: holders of %d locks, with a TTL of 4 s, are stopped %d times for %v", database, stoppedNames, stoppedTimes, stoppedFor),
		Text: three + load(80*time.Second, 20) + fmt.Sprintf("locks: {names: %d, contenders: [2], hold: 8s, ttl: 4s, recipe: direct}\ndatabases: {%s: %s}\n", stoppedNames, database, entry),
		Beside: func(ctx context.Context, control *os.Process, dir string) {
			for i := 0; i < stoppedTimes && experiment.Await(ctx, dir, "contenders"); i++ {
				sleep.For(ctx, 4*time.Second)
				stop(ctx, control, stoppedFor)
			}
		},
		Judge: judged(func(r *records) []experiment.Finding {
			s := r.Databases[0].Locks.Stages[0]
			return []experiment.Finding{
				experiment.Exactly("holders that are reported to have believed that they held a lock", s.Safety.Believed, stoppedNames*stoppedTimes),
				experiment.Exactly("held twice by the store's doing, or fences out of order", s.Safety.Overlaps+s.Safety.Disorder, 0),
				experiment.Exactly("contenders left at the end", r.Databases[0].Locks.Left, 0),
			}
		}),
	}
}

// handOff is the most a hand-off adds to a rule, in seconds, on a machine that members share.
const handOff = 0.1

// failOver: the lock of a dead holder passes when its session has ended, and in Consul later.
func failOver() experiment.Trial {
	const names = 10
	text := three + load(24*time.Second, 20) + fmt.Sprintf(`locks: {names: %d, contenders: [2], hold: 1s, ttl: 4s, recipe: direct, elect: true}
databases:
  etcd: {tag: etcd}
  zookeeper: {tag: zookeeper, %s, load: {duration: 28s}, options: {java_xms: 512M, java_xmx: 512M}}
  consul__at_once: {tag: consul-0, %[3]s, load: {duration: 52s}, locks: {ttl: 10s, lock_delay: 0s}}
  consul__delayed: {tag: consul-15, %[3]s, load: {duration: 82s}, locks: {ttl: 10s, lock_delay: 15s}}
`, names, experiment.ZooKeeper, experiment.Consul)
	return experiment.Trial{
		Name: "fail-over", Title: fmt.Sprintf("three members: holders of %d locks die after 1 s", names),
		Text: text,
		Judge: judged(func(r *records) (list []experiment.Finding) {
			at := map[string]float64{}
			for _, d := range r.Databases {
				f := d.Locks.Stages[0].FailOver
				at[d.Tag] = sec(f.Passed.P50)
				list = append(list,
					experiment.Found(d.Tag+": holders that died, locks not taken, and passed early", fmt.Sprintf("%d, %d, %d", f.Dead, f.NotTaken, f.Early), fmt.Sprintf("at least %d, 0, 0", names), f.Dead >= names && f.NotTaken+f.Early == 0),
					experiment.Found(fmt.Sprintf("%s: the lock passed after p50, most (%d)", d.Tag, f.Passed.N), fmt.Sprintf("%.3f, %.3f s", sec(f.Passed.P50), sec(f.Passed.Max)),
						fmt.Sprintf("by the rule %.3f to %.3f s, and a hand-off of at most %.1f s", sec(d.Locks.Earliest), sec(d.Locks.Latest), handOff), f.Passed.N > 0 && sec(f.Passed.Max) <= sec(d.Locks.Latest)+handOff))
			}
			apart := at["consul-15"] - at["consul-0"]
			return append(list, experiment.Found("consul: with a LockDelay of 15 s later than without", fmt.Sprintf("%.3f s", apart), "14.5 to 15.5 s", math.Abs(apart-15) <= 0.5))
		}),
	}
}
