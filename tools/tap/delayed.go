package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coreos/dbtester/tools/experiment"
)

// share is the least part of the fsyncs during faults that must have the delay, and healed the
// longest time after it until one does not.
const (
	share  = 0.95
	healed = time.Second
)

const (
	lasts  = 4 * time.Second
	repeat = 9 * time.Second
)

// slow is an experiment with faults on the leader disk.
const slow = `title: tap
hosts: [127.0.3.1, 127.0.3.2, 127.0.3.3]
load: {operation: write, rate: 200, duration: %v, warm_up: 1s, clients: 100, connections: 10, key_size: 32, value_size: 256, timeout: 2s, failover: next}
faults:
- {kind: disk, member: leader, at: 3s, for: %v, fsync: 50ms}
repeat: {times: %d, every: %v}
databases:
  etcd: {}
`

// period is a fault: asked for, applied at the latest, and over no sooner than lasts after it was
// asked for.
type period struct {
	member         int
	asked, applied time.Time
}

// outcome has the fsyncs the member counted during a fault, and the time until it healed.
type outcome struct {
	period
	during fsyncs
	healed time.Duration // from the end until an fsync without the delay was counted; -1 for never
}

// delayed makes a run with n faults and compares them with the counts of the members themselves.
func delayed(ctx context.Context, program, dir string, n int) ([]outcome, error) {
	w := watch([]string{"127.0.3.1", "127.0.3.2", "127.0.3.3"})
	text := fmt.Sprintf(slow, time.Duration(n)*repeat+time.Second, lasts, n, repeat)
	path, err := experiment.Run(ctx, program, dir, text, filepath.Join("*", "events.jsonl"))
	members := w.stop()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := periods(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(list) != n {
		return nil, fmt.Errorf("the run must have %d faults, got %d", n, len(list))
	}
	var all []outcome
	for _, p := range list {
		all = append(all, judge(p, members[p.member]))
	}
	return all, nil
}

// periods reads the faults from run events. One that failed is an error.
func periods(events io.Reader) (all []period, err error) {
	var last period
	for lines := bufio.NewScanner(events); lines.Scan(); {
		var e struct {
			Time       time.Time
			Kind, Text string
			Member     int
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		switch e.Kind {
		case "fault":
			last = period{member: e.Member, asked: e.Time}
		case "fault read back":
			last.applied = e.Time
		case "fault over":
			if last.applied.IsZero() || !strings.HasSuffix(e.Text, "calls of which each takes 50ms longer") {
				return nil, fmt.Errorf("a fault failed: %s", e.Text)
			}
			all = append(all, last)
		}
	}
	return all, nil
}

// judge returns the fsyncs a member counted during a fault, and how long after its end the first
// fsync without the delay was counted. Later ones may take long because the machine is busy.
func judge(p period, samples []sample) outcome {
	o, end := outcome{period: p, healed: -1}, p.asked.Add(lasts)
	var first, last *sample
	for i := range samples {
		s := &samples[i]
		switch {
		case s.asked.Before(p.applied):
		case !s.got.After(end):
			if first == nil {
				first = s
			}
			last = s
			o.during = s.minus(first.fsyncs)
		case last != nil && s.within32 > last.within32:
			o.healed = s.got.Sub(end)
			return o
		}
	}
	return o
}

// reportDelayed prints a table, and returns why it is not as it must be.
func reportDelayed(out io.Writer, list []outcome) error {
	fmt.Fprintf(out, "\n## With a fault\n\nThe disk of the leader is 50 ms slower for %v (`fsync: 50ms`), with 200 writes a second. The leader was asked every %v for its own histogram `etcd_disk_wal_fsync_duration_seconds`. At least %.0f %% of its fsyncs during all faults must be in the buckets from 32 to 128 ms. Healed: the time from the end of the fault until an answer counted another fsync of at most 32 ms; at most %v.\n\n| fault | leader | fsyncs | 32 to 128 ms | share | healed |\n|---|---|---|---|---|---|\n", lasts, every, 100*share, healed)
	var errs []error
	var sum fsyncs
	for i, o := range list {
		part := 0.0
		if o.during.all > 0 {
			part = float64(o.during.delayed()) / float64(o.during.all)
		}
		back, late := fmt.Sprintf("%.2f s", o.healed.Seconds()), o.healed < 0 || o.healed > healed
		if o.healed < 0 {
			back = "never"
		}
		if late {
			errs = append(errs, fmt.Errorf("fault %d: healed: %s", i+1, back))
		}
		fmt.Fprintf(out, "| %d | member %d | %d | %d | %.1f %% | %s |\n", i+1, o.member+1, o.during.all, o.during.delayed(), 100*part, back)
		sum.all, sum.within32, sum.within128 = sum.all+o.during.all, sum.within32+o.during.within32, sum.within128+o.during.within128
	}
	if float64(sum.delayed()) < share*float64(sum.all) || sum.all == 0 {
		errs = append(errs, fmt.Errorf("%d of %d fsyncs during faults took from 32 to 128 ms", sum.delayed(), sum.all))
	}
	fmt.Fprintf(out, "\nIn all %d of %d fsyncs took from 32 to 128 ms, %d less and %d more.\n", sum.delayed(), sum.all, sum.within32, sum.all-sum.within128)
	return errors.Join(errs...)
}
