package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// program names a table row, with its bars.
type program struct {
	name string
	bars []bar
}

// allPrograms run a load without bars, renewing renew leases, and watching watch.
var (
	allPrograms = []program{{name: benchmarkName}, {name: controlName}, {name: withRequests}, {name: judgedName}, {name: clientv3Name}, {name: floorName}}
	watching    = []program{{name: benchmarkName}, {controlName, []bar{{cpu, benchmarkName, 0.25}, {cpu, floorName, 1.5}}}, {name: floorName}}
	renewing    = []program{{name: benchmarkName}, {controlName, []bar{{cpu, clientv3Name, 0.3}}}, {name: clientv3Name}}
)

// The run length at a rate, in seconds. Starting a program is a small part of its cost.
const paced = 20

// etcdParts returns the sections about loads on etcd.
func etcdParts() []part {
	measured := func(name, title string, minutes int, l load, programs ...program) part {
		return part{name, title, minutes, func(ctx context.Context, o options, out io.Writer) error {
			o.load = l
			return o.workIn(10, func(o options) error {
				_, err := etcdLoad(ctx, o, out, programs)
				return err
			})
		}}
	}
	puts := func(name, title string, minutes int, l load, programs ...program) part {
		return measured(name, "Puts to etcd: "+title, minutes, l, programs...)
	}
	rated := func(rate int, most, mostWith float64) part {
		return puts(fmt.Sprintf("rate-%d", rate), fmt.Sprintf("%d a second by 100 clients on 100 connections", rate), 16,
			load{requests: paced * rate, clients: 100, connections: 100, rate: rate},
			program{name: benchmarkName},
			program{controlName, []bar{{cpu, benchmarkName, most}, {cpu, floorName, 1.3}}},
			program{withRequests, []bar{{cpu, benchmarkName, mostWith}}},
			program{name: floorName})
	}
	return []part{
		puts("clients-1", "1 client", 6, load{requests: 8_000, clients: 1, connections: 1},
			program{name: benchmarkName}, program{name: controlName}, program{name: floorName}),
		puts("clients-10", "10 clients on 10 connections", 8, load{requests: 30_000, clients: 10, connections: 10},
			program{name: benchmarkName}, program{name: controlName}, program{name: floorName}),
		puts("clients-100", "100 clients on 100 connections", 11, load{requests: 100_000, clients: 100, connections: 100},
			program{name: benchmarkName}, program{controlName, []bar{{cpu, benchmarkName, 0.30}}}, program{name: withRequests}, program{name: floorName}),
		puts("clients-1000", "1000 clients on 100 connections", 18, load{requests: 200_000, clients: 1000, connections: 100},
			program{name: benchmarkName}, program{controlName, []bar{{cpu, benchmarkName, 0.24}, {peak, benchmarkName, 0.40}}},
			program{name: judgedName}, program{name: clientv3Name}, program{name: floorName}),
		rated(1000, 0.22, 0.17),
		rated(4000, 0.45, 0.40),
		measured("renewals", "Renewals of etcd's leases", 15, load{requests: 200_000, clients: 1000, connections: 100, keepalive: true}, renewing...),
		measured("events", "Events of etcd's watches", 13, load{requests: 2_000_000, watchers: 1000, connections: 50, rate: 100}, watching...),
	}
}

// etcdLoad runs programs with one load on etcd in turn, prints their table, and returns its rows.
func etcdLoad(ctx context.Context, o options, out io.Writer, programs []program) (rows []row, err error) {
	before := busy()
	versions, err := peerVersions(ctx)
	if err != nil {
		return nil, err
	}
	cluster, err := newEtcd(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cluster.stop()) }()
	if rows, err = etcdRows(ctx, o, cluster, programs); err != nil {
		return nil, err
	}
	// The keys that a cluster stores make its next puts slower, and fill the memory.
	if err := alternate(ctx, o, rows, func() error { return cluster.renew(ctx) }); err != nil {
		return nil, err
	}
	each, what := o.what()
	fmt.Fprintf(out, "%s; three members of etcd %s on loopback, started anew for each turn, data in %s.\n", what, cluster.version, o.data)
	fmt.Fprintf(out, "%d runs of each, in turn; medians. %s; %s.\n\n", o.pairs, versions, o.conditions(before))
	printTable(out, each, rows)
	return rows, nil
}

// missed returns an error if a row misses a bar.
func missed(rows []row) error {
	var errs []error
	for _, r := range rows {
		if text := r.verdicts(rows); strings.Contains(text, barMissed) {
			errs = append(errs, fmt.Errorf("%s: %s", r.name, text))
		}
	}
	return errors.Join(errs...)
}

// etcdRows returns a row for each program.
func etcdRows(ctx context.Context, o options, c *cluster, programs []program) ([]row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	floor := []string{"-endpoints", strings.Join(c.endpoints, ","), "-requests", fmt.Sprint(o.requests), "-clients", fmt.Sprint(o.clients), "-connections", fmt.Sprint(o.connections)}
	var rows []row
	for _, p := range programs {
		r := row{name: p.name, bars: p.bars}
		switch p.name {
		case benchmarkName:
			tool, err := o.build(ctx, ".", "go.etcd.io/etcd/v3/tools/benchmark")
			if err != nil {
				return nil, err
			}
			r.argv = benchmark(o, c, tool)
		case clientv3Name:
			r.argv = append([]string{self, "floor-etcd", fmt.Sprintf("-keepalive=%v", o.keepalive)}, floor...)
		case floorName:
			// Signals by which Go's scheduler would interrupt the only goroutine are off.
			r.argv = append([]string{"env", "GODEBUG=asyncpreemptoff=1", self, "floor-put", "-rate", fmt.Sprint(o.rate)}, floor...)
			if o.watchers > 0 {
				r.argv = []string{"env", "GODEBUG=asyncpreemptoff=1", self, "floor-watch", "-rate", fmt.Sprint(o.rate), "-endpoints", strings.Join(c.endpoints, ","),
					"-watchers", fmt.Sprint(o.watchers), "-puts", fmt.Sprint(o.puts()), "-connections", fmt.Sprint(o.connections)}
			}
		default:
			config := filepath.Join(o.dir, fmt.Sprintf("experiment-%d.yaml", len(rows)))
			if err := os.WriteFile(config, []byte(experiment(o, c, p.name)), 0o644); err != nil {
				return nil, err
			}
			r.argv = []string{o.dbtester, "control", "--full-speed", "--config", config}
			r.notValid = o.rate > 0 // a short pause on the machine makes requests late
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// benchmark returns the command that runs the etcd tool for a load.
func benchmark(o options, c *cluster, tool string) []string {
	argv := []string{tool, "--endpoints=" + strings.Join(c.endpoints, ","), fmt.Sprintf("--conns=%d", o.connections), fmt.Sprintf("--clients=%d", max(o.clients, o.connections))}
	if o.watchers > 0 {
		return append(argv, "watch-latency", fmt.Sprintf("--streams=%d", o.connections), fmt.Sprintf("--watchers-per-stream=%d", o.watchers/o.connections),
			fmt.Sprintf("--put-total=%d", o.puts()), fmt.Sprintf("--put-rate=%d", o.rate), fmt.Sprintf("--key-size=%d", watchedKey), fmt.Sprintf("--val-size=%d", watchedKey))
	}
	if o.keepalive {
		return append(argv, "lease-keepalive", fmt.Sprintf("--total=%d", o.requests))
	}
	return append(argv, "put", "--key-size=256", "--val-size=1024", fmt.Sprintf("--total=%d", o.requests), fmt.Sprintf("--rate=%d", o.rate),
		"--sequential-keys", fmt.Sprintf("--key-space-size=%d", o.requests))
}

// experiment returns dbtester's file for the same load on the running cluster.
func experiment(o options, c *cluster, name string) string {
	load, options := fmt.Sprintf("operation: write, requests: %d, clients: %d, connections: %d, key_size: 256, value_size: 1024", o.requests, o.clients, o.connections), "{}"
	if o.keepalive {
		load = strings.Replace(load, "write", fmt.Sprintf("keepalive, sessions: %d", o.clients), 1)
	}
	if o.rate > 0 {
		load += fmt.Sprintf(", rate: %d", o.rate)
	}
	load = fmt.Sprintf("load: {%s}\n", load)
	if o.watchers > 0 {
		load = fmt.Sprintf("load: {operation: update, keys: 1, requests: %d, rate: %d, clients: 1, connections: 1, key_size: %d, value_size: %d}\nwatch: {watchers: %d, connections: %d, of: key}\n",
			o.puts(), o.rate, watchedKey, watchedKey, o.watchers, o.connections)
	}
	if name == withRequests {
		options = "{pings: with-requests}"
	}
	return fmt.Sprintf(`title: peers
results: %s
%sconsistency: %v
databases:
  etcd:
    endpoints: [%s]
    options: %s
    steps: {start: false, stop: false}
`, filepath.Join(o.dir, "results"), load, name == judgedName, strings.Join(c.endpoints, ", "), options)
}
