// Command blackout compares the times without an answer that dbtester measures around faults with
// those its own prober measures: for etcd, ZooKeeper and Consul, with a leader that is killed,
// paused, cut off, or has a disk that stalls. It shares no code with dbtester: it has its own
// clients for every member, and reads the records by itself. Run it with `make blackout`, as root.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/coreos/dbtester/tools/experiment"
)

func main() { experiment.Main("blackout", blackout) }

// tolerance is the largest accepted difference between two measurements, in seconds.
const tolerance = 0.1

// store is a database: how its experiment names it, and how a member is asked to write.
type store struct {
	name, lines string
	port        int
	dial        func(address string) writer
}

func stores() []store {
	return []store{
		{"etcd", "etcd: {}", 2379, dialHTTP("POST", "/v3/kv/put", `{"key":"cHJvYmU=","value":"MQ=="}`)},
		{"zookeeper", "zookeeper: {" + experiment.ZooKeeper + ", options: {java_xms: 256M, java_xmx: 256M}}", 2181, dialZooKeeper},
		{"consul", "consul: {" + experiment.Consul + "}", 8500, dialHTTP("PUT", "/v1/kv/probe", "1")},
	}
}

// faults is the experiment file. Its verbs are the load length in seconds, the number of repeats,
// the length of each in seconds, and the database.
const faults = `title: blackout
hosts: [127.0.1.1, 127.0.1.2, 127.0.1.3]
load: {operation: update, keys: 1000, rate: 200, duration: %ds, warm_up: 2s, clients: 300, key_size: 32, value_size: 64, timeout: 1s, failover: next, backlog: shed}
probe: 20ms
faults:
- {kind: kill, member: leader, at: 6s, for: 3s}
- {kind: pause, member: leader, at: 20s, for: 4s}
- {kind: disk, member: leader, at: 34s, for: 5s, fsync: stall}
- {kind: partition, member: leader, at: 50s, for: 4s}
repeat: {times: %d, every: %ds}
databases:
  %s
`

const every = 64 // seconds per repeat

// row is one fault by both measurements, in seconds.
type row struct {
	store, kind           string
	repeat                int
	load, probes, outside float64
	failed                bool
}

func blackout(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("blackout", flag.ContinueOnError)
	program := flags.String("dbtester", "bin/dbtester", "the program")
	times := flags.Int("n", 3, "repeats of each fault")
	only := flags.String("only", "", "one store")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "blackout-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	busy := experiment.Busy("before")
	var rows []row
	var errs []error
	for _, s := range stores() {
		if *only != "" && *only != s.name {
			continue
		}
		of, err := s.measure(ctx, *program, filepath.Join(dir, s.name), *times)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
		}
		for _, r := range of {
			fmt.Fprintf(progress, "%s %s %d: load %.3f, probes %.3f, outside %.3f s\n", r.store, r.kind, r.repeat, r.load, r.probes, r.outside)
		}
		rows = append(rows, of...)
	}
	report(out, busy, rows)
	for _, r := range rows {
		if !r.agrees() {
			errs = append(errs, fmt.Errorf("%s, %s, repeat %d: probes %.3f s, the outside prober %.3f s", r.store, r.kind, r.repeat, r.probes, r.outside))
		}
	}
	return errors.Join(errs...)
}

// measure runs an experiment while the prober writes.
func (s store) measure(ctx context.Context, program, dir string, times int) ([]row, error) {
	p := probe(s)
	table, err := experiment.Run(ctx, program, dir, fmt.Sprintf(faults, times*every+4, times, every, s.lines), filepath.Join("*", "faults.csv"))
	answers := p.stop()
	if err != nil {
		return nil, err
	}
	return s.rows(table, answers)
}

// rows reads the fault table, and finds the same times in the answers to the prober.
func (s store) rows(path string, answers []time.Time) (rows []row, err error) {
	table, err := experiment.Table(path)
	if err != nil {
		return nil, err
	}
	var times []time.Time
	for _, fault := range table {
		from, err1 := instant(fault["from"])
		until, err2 := instant(fault["until"])
		blackout, err3 := strconv.ParseFloat(fault["blackout_ns"], 64)
		silence, err4 := strconv.ParseFloat(fault["silence_ns"], 64)
		repeat, err5 := strconv.Atoi(fault["repeat"])
		if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
			return rows, fmt.Errorf("read %s: %w", path, err)
		}
		rows = append(rows, row{s.name, fault["kind"], repeat, blackout / 1e9, silence / 1e9, 0, fault["failed"] != "0"})
		times = append(times, from, until)
	}
	for i := range rows {
		end := time.Time{} // set if the next fault begins at once: later times are its own
		if 2*i+2 < len(times) && !times[2*i+1].Before(times[2*i+2]) {
			end = times[2*i+1]
		}
		rows[i].outside = longest(answers, times[2*i], times[2*i+1], end).Seconds()
	}
	return rows, nil
}

// instant reads a time in either of the notations in the records.
func instant(text string) (time.Time, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Unix(0, n), nil
	}
	var t time.Time
	err := json.Unmarshal([]byte(strconv.Quote(text)), &t)
	return t, err
}

// longest returns the largest gap between successive answers that overlaps [from, until). If end is not
// zero, no gap lasts beyond it. Answers are in order.
func longest(answers []time.Time, from, until, end time.Time) (most time.Duration) {
	for i := 1; i < len(answers); i++ {
		if answers[i].After(from) && answers[i-1].Before(until) {
			to := answers[i]
			if !end.IsZero() && to.After(end) {
				to = end
			}
			most = max(most, to.Sub(answers[i-1]))
		}
	}
	return most
}

// agrees reports whether the probes by dbtester and the outside prober measured the same.
func (r row) agrees() bool {
	apart := r.probes - r.outside
	return !r.failed && apart <= tolerance && apart >= -tolerance
}

// report prints the table. busy describes the load on the machine.
func report(out io.Writer, busy string, rows []row) {
	fmt.Fprintf(out, "# Times without an answer, by two probers\n\nThe longest time without an answer around each fault of the leader, in seconds: by dbtester's load (FAULT-BLACKOUT), by its probes of each member (FAULT-SILENCE), and by a prober that shares no code with it and writes to each member every %v. The two probers must agree within %.0f ms; clients of the load send less often. Members, agents, load and both probers share one machine with %d processors, %s. Made by `make blackout`.\n\n| store | fault | repeat | load | probes | outside prober | probes - outside, ms |\n|---|---|---|---|---|---|---|\n", interval, 1000*tolerance, runtime.NumCPU(), busy)
	agree, most := 0, 0.0
	for _, r := range rows {
		note := ""
		if r.agrees() {
			agree++
		} else {
			note = " **apart**"
		}
		apart := 1000 * (r.probes - r.outside)
		most = max(most, apart, -apart)
		fmt.Fprintf(out, "| %s | %s | %d | %.3f | %.3f | %.3f | %+.0f%s |\n", r.store, r.kind, r.repeat, r.load, r.probes, r.outside, apart, note)
	}
	fmt.Fprintf(out, "\n%d of %d agree; the largest difference is %.0f ms.\n", agree, len(rows), most)
}
