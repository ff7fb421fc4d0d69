package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// fsyncs has the counts of an etcd member since it started: all its log fsyncs, and those that took
// at most 32 and 128 ms.
type fsyncs struct{ all, within32, within128 int64 }

func (f fsyncs) minus(o fsyncs) fsyncs {
	return fsyncs{f.all - o.all, f.within32 - o.within32, f.within128 - o.within128}
}

// delayed returns the number that took more than 32 and at most 128 ms.
func (f fsyncs) delayed() int64 { return f.within128 - f.within32 }

// sample is an answer from a member, counted at some time in [asked, got].
type sample struct {
	asked, got time.Time
	fsyncs
}

// parse reads the histogram in the Prometheus text format.
func parse(text io.Reader) (f fsyncs, err error) {
	const name = "etcd_disk_wal_fsync_duration_seconds_"
	found := 0
	for lines := bufio.NewScanner(text); lines.Scan(); {
		series, value, _ := strings.Cut(lines.Text(), " ")
		for of, to := range map[string]*int64{`bucket{le="0.032"}`: &f.within32, `bucket{le="0.128"}`: &f.within128, "count": &f.all} {
			if series != name+of {
				continue
			}
			if *to, err = strconv.ParseInt(value, 10, 64); err != nil {
				return f, fmt.Errorf("read %s: %w", series, err)
			}
			found++
		}
	}
	if found != 3 {
		return f, fmt.Errorf("the metrics must have three series of %s*, got %d", name, found)
	}
	return f, nil
}

// every is the time between two samples from a member.
const every = 100 * time.Millisecond

// watcher asks members for their counts all the time, as long as they answer.
type watcher struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	members [][]sample
}

// watch starts a watcher.
func watch(hosts []string) *watcher {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{cancel: cancel, members: make([][]sample, len(hosts))}
	for i, host := range hosts {
		w.running.Go(func() {
			for ticker := time.NewTicker(every); ; {
				select {
				case <-ctx.Done():
					ticker.Stop()
					return
				case <-ticker.C:
				}
				if s, err := ask(ctx, "http://"+host+":2379/metrics"); err == nil { // else it does not run yet
					w.members[i] = append(w.members[i], s)
				}
			}
		})
	}
	return w
}

// ask asks a member once.
func ask(ctx context.Context, url string) (s sample, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return s, err
	}
	s.asked = time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	s.fsyncs, err = parse(resp.Body)
	s.got = time.Now()
	return s, err
}

// stop ends the watcher and returns the samples from each member in order.
func (w *watcher) stop() [][]sample {
	w.cancel()
	w.running.Wait()
	http.DefaultClient.CloseIdleConnections()
	return w.members
}
