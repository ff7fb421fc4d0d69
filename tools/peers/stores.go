package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// store is a database without its own benchmark: dbtester is compared with a loop around the client
// that programs use (tools/library).
type store struct {
	name    string // of the database
	title   string
	library string // the client module
	client  string // its usual name
	cluster func(context.Context, options) (*cluster, error)
}

// storeParts returns the sections about loads on ZooKeeper and Consul.
func storeParts() (all []part) {
	for _, s := range []store{
		{"zookeeper", "ZooKeeper", "github.com/go-zookeeper/zk", "go-zookeeper", newZooKeeper},
		{"consul", "Consul", "github.com/hashicorp/consul/api", "consul/api", newConsul},
	} {
		measure := func(l load) func(context.Context, options, io.Writer) error {
			return func(ctx context.Context, o options, out io.Writer) error {
				o.load = l
				return o.workIn(10, func(o options) error { return s.measure(ctx, o, out) })
			}
		}
		all = append(all,
			part{s.name + "-100", fmt.Sprintf("Puts to %s: 100 clients on 100 connections", s.title), 8, measure(load{requests: 50_000, clients: 100, connections: 100})},
			part{s.name + "-rate-1000", fmt.Sprintf("Puts to %s: 1000 a second by 100 clients on 100 connections", s.title), 13, measure(load{requests: paced * 1000, clients: 100, connections: 100, rate: 1000})})
	}
	return all
}

// measure runs dbtester and the library with one load in turn, and prints their table.
func (s store) measure(ctx context.Context, o options, out io.Writer) (err error) {
	before := busy()
	version := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", s.library)
	version.Dir = o.repo
	library, err := version.Output()
	if err != nil {
		return fmt.Errorf("ask for the version of %s: %w", s.library, err)
	}
	cluster, err := s.cluster(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.stop()) }()
	rows, err := s.rows(ctx, o, cluster)
	if err != nil {
		return err
	}
	if err := alternate(ctx, o, rows, func() error { return cluster.renew(ctx) }); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d puts%s of a 256-byte key and a 1 KiB value by %d clients on a connection each; three members of %s %s on loopback, started anew for each turn, data in %s.\n",
		o.requests, o.atRate(), o.clients, s.title, cluster.version, o.data)
	fmt.Fprintf(out, "%d runs of each, in turn; medians. %s %s; %s.\n\n", o.pairs, s.client, strings.TrimSpace(string(library)), o.conditions(before))
	printTable(out, "put", rows)
	return nil
}

// rows returns a row for the library alone, and one for dbtester with each transport.
func (s store) rows(ctx context.Context, o options, c *cluster) ([]row, error) {
	tool, err := o.build(ctx, o.repo, "./tools/library")
	if err != nil {
		return nil, err
	}
	rows := []row{{name: s.client + " alone", argv: []string{
		tool, s.name, "-endpoints", strings.Join(c.endpoints, ","), "-requests", fmt.Sprint(o.requests), "-clients", fmt.Sprint(o.clients), "-rate", fmt.Sprint(o.rate),
	}}}
	for _, transport := range []string{"lean", "standard"} {
		name := controlName
		if transport != "lean" {
			name = "dbtester, transport: " + transport
		}
		config := filepath.Join(o.dir, transport+".yaml")
		if err := os.WriteFile(config, []byte(s.experiment(o, c, transport)), 0o644); err != nil {
			return nil, err
		}
		rows = append(rows, row{name: name, argv: []string{o.dbtester, "control", "--full-speed", "--config", config}, notValid: true})
	}
	return rows, nil
}

// experiment returns dbtester's file for the load on the running cluster.
func (s store) experiment(o options, c *cluster, transport string) string {
	pace := ""
	if o.rate > 0 {
		pace = fmt.Sprintf(", rate: %d", o.rate)
	}
	return fmt.Sprintf(`title: peers
results: %s
load: {operation: write, requests: %d%s, clients: %d, connections: %d, key_size: 256, value_size: 1024}
consistency: false
databases:
  %s:
    endpoints: [%s]
    options: {transport: %s}
    steps: {start: false, stop: false}
`, filepath.Join(o.dir, "results"), o.requests, pace, o.clients, o.connections, s.name, strings.Join(c.endpoints, ", "), transport)
}
