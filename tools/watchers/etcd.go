package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/procfs"

	"github.com/coreos/dbtester/pkg/sleep"
	"github.com/coreos/dbtester/tools/experiment"
)

// million: every watcher hears of every write once, and the members count as many events.
func million() experiment.Trial {
	const writes = 100
	counters := make([]experiment.Counter, 3)
	return experiment.Trial{
		Name: "etcd-events", Title: "etcd, three members: 10,000 watchers of one key and 100 writes",
		Text: hosts + fmt.Sprintf("load: {operation: update, keys: 1, rate: 5, requests: %d, clients: 5, key_size: 32, value_size: 64, timeout: 10s}\nwatch: {watchers: %d, connections: 50, of: key}\ndatabases: {etcd: {}}\n", writes, watching),
		Beside: func(ctx context.Context, _ *os.Process, _ string) {
			var members sync.WaitGroup
			for i := range counters {
				counters[i] = experiment.Counter{Series: "etcd_debugging_mvcc_events_total"}
				members.Go(func() { counters[i].Poll(ctx, fmt.Sprintf("127.0.17.%d", i+1)) })
			}
			members.Wait()
		},
		Judge: func(manifest string) ([]experiment.Finding, error) {
			o, err := read(manifest)
			if err != nil {
				return nil, err
			}
			counted := counters[0].N + counters[1].N + counters[2].N
			return []experiment.Finding{
				experiment.Exactly("acknowledged writes", o.Counts.Writes, writes),
				experiment.Exactly("deliveries", o.Counts.Delivered, o.Counts.Writes*watching),
				experiment.Exactly("lost, again, after newer ones, not come or not judged", o.wrong(), 0),
				experiment.Exactly("events that the members counted", counted, o.Counts.Delivered+o.Counts.Foreign),
			}, nil
		},
	}
}

// kept measures the dbtester memory per watcher, at the same number of connections.
func kept() experiment.Trial {
	const few, most = 50, 2000 // watchers, and bytes
	var samples []sample
	return experiment.Trial{
		Name: "etcd-memory", Title: "etcd, three members: memory of dbtester control with 50 watchers and with 10,000, both on 50 connections",
		Text: hosts + fmt.Sprintf("load: {operation: update, keys: 100, rate: 10, duration: 40s, clients: 5, key_size: 32, value_size: 64, timeout: 10s}\nwatch: {watchers: [%d, %d], connections: 50, of: key}\ndatabases: {etcd: {}}\n", few, watching),
		Beside: func(ctx context.Context, control *os.Process, _ string) {
			for ; ctx.Err() == nil; sleep.For(ctx, 100*time.Millisecond) {
				if n, err := rssAnon(control.Pid); err == nil { // else it has ended
					samples = append(samples, sample{time.Now(), n})
				}
			}
		},
		Judge: func(manifest string) ([]experiment.Finding, error) {
			o, err := read(manifest)
			if err != nil {
				return nil, err
			}
			if len(o.Stages) != 2 {
				return nil, fmt.Errorf("the run must have 2 stages, got %d", len(o.Stages))
			}
			var medians [2]int64
			for i, s := range o.Stages {
				if medians[i], err = during(samples, s.Start, s.Start.Add(s.Length)); err != nil {
					return nil, err
				}
			}
			each := float64(medians[1]-medians[0]) / (watching - few)
			return []experiment.Finding{
				experiment.Exactly("lost, again, after newer ones, not come or not judged", o.wrong(), 0),
				experiment.Found("RssAnon of the whole process, medians of the two stages", fmt.Sprintf("%.1f MB, %.1f MB", float64(medians[0])/1e6, float64(medians[1])/1e6), "known", true),
				experiment.Found("for each watcher more", fmt.Sprintf("%.0f bytes", each), fmt.Sprintf("at most %d bytes", most), each <= most),
			}, nil
		},
	}
}

// sample is the anonymous resident memory of a process at a time, in bytes.
type sample struct {
	at    time.Time
	bytes int64
}

// during returns the median of the samples between two times.
func during(samples []sample, from, to time.Time) (int64, error) {
	var list []int64
	for _, s := range samples {
		if !s.at.Before(from) && s.at.Before(to) {
			list = append(list, s.bytes)
		}
	}
	if len(list) == 0 {
		return 0, fmt.Errorf("there is no sample from %v to %v", from, to)
	}
	slices.Sort(list)
	return list[len(list)/2], nil
}

// rssAnon returns the anonymous resident memory of a process, in bytes.
func rssAnon(pid int) (int64, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	status, err := process.NewStatus()
	return int64(status.RssAnon), err
}
