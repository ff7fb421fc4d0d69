package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// databases have the installed versions in their settings, and the number of connections that
// clients share: each has its own where the usual client cannot be shared. anon is the bar for
// RssAnon in MB; 0 without a bar.
var databases = []struct {
	name, settings string
	anon           float64
}{
	{"etcd", "{load: {connections: 100}}", 25},
	{"zookeeper", "{version: " + zookeeperRelease + ", install: true, options: {java_xms: 512M, java_xmx: 512M}}", 25},
	{"consul", "{version: " + consulRelease + ", install: true}", 25},
	{"zetcd", "{version: v0.0.5, install: true}", 0},
	{"cetcd", "{}", 25},
}

// measureDatabases measures the client's CPU time and memory per put to each database, with agents
// in separate processes, and the CPU time and memory for an idle agent.
func measureDatabases(ctx context.Context, o options, out io.Writer) error {
	o.load = load{requests: 50_000, clients: 1000}
	return o.workIn(5, func(o options) (err error) {
		before := busy()
		agents, err := startAgents(ctx, o)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, agents.stop()) }()
		rows, err := databaseRows(ctx, o, agents.hosts)
		if err != nil {
			return err
		}
		if err := alternate(ctx, o, rows, nil); err != nil {
			return err
		}
		fmt.Fprintf(out, "%d puts of a 256-byte key and a 1 KiB value by %d clients on a connection each (etcd: on 100), with the default transports; three members on loopback, started by three agents, data in %s.\n",
			o.requests, o.clients, o.data)
		fmt.Fprintf(out, "%d runs of each, in turn; medians. %s.\n\n", o.pairs, o.conditions(before))
		printDatabases(out, rows, agents.idle)
		return nil
	})
}

// databaseRows returns a row for each database. Each database ran once before, so no
// measured run installs anything.
func databaseRows(ctx context.Context, o options, hosts []string) ([]row, error) {
	var rows []row
	for _, d := range databases {
		config := filepath.Join(o.dir, d.name+".yaml")
		if err := os.WriteFile(config, []byte(databaseExperiment(o, hosts, d.name, d.settings, 1000)), 0o644); err != nil {
			return nil, err
		}
		argv := []string{o.dbtester, "control", "--full-speed", "--config", config}
		if _, _, err := measure(ctx, o.dir, argv); err != nil {
			return nil, fmt.Errorf("%s: %w", d.name, err)
		}
		if err := os.WriteFile(config, []byte(databaseExperiment(o, hosts, d.name, d.settings, o.requests)), 0o644); err != nil {
			return nil, err
		}
		r := row{name: d.name, argv: argv, notValid: true}
		if d.anon > 0 {
			r.bars = []bar{{quantity: anon, most: d.anon}}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func databaseExperiment(o options, hosts []string, name, settings string, requests int) string {
	return fmt.Sprintf(`title: peers
results: %s
hosts: [%s]
load: {operation: write, requests: %d, clients: %d, connections: %d, key_size: 256, value_size: 1024}
consistency: false
databases:
  %s: %s
`, filepath.Join(o.dir, "results"), strings.Join(hosts, ", "), requests, o.clients, o.clients, name, settings)
}

// agents are three processes, each with its own work directory.
type agents struct {
	hosts     []string
	processes []*exec.Cmd
	idle      usage // for the first, before anything was asked of it
}

func startAgents(ctx context.Context, o options) (*agents, error) {
	a := &agents{}
	for i := 1; i <= 3; i++ {
		host := fmt.Sprintf("127.0.84.%d", i)
		cmd := exec.Command(o.dbtester, "agent", "--agent-port", net.JoinHostPort(host, "3500"), "--work-dir", filepath.Join(o.dir, host))
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		if err := cmd.Start(); err != nil {
			return nil, errors.Join(err, a.stop())
		}
		a.hosts, a.processes = append(a.hosts, host), append(a.processes, cmd)
	}
	select {
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), a.stop())
	case <-time.After(2 * time.Second): // until they are idle
	}
	pid := a.processes[0].Process.Pid
	a.idle = usage{anon: rssAnon(pid), peak: statusBytes(pid, "VmRSS:")}
	return a, nil
}

func (a *agents) stop() error {
	var errs []error
	for _, p := range a.processes {
		errs = append(errs, p.Process.Signal(syscall.SIGTERM))
	}
	for _, p := range a.processes {
		_ = p.Wait() // it was asked to end, so its status has no meaning
	}
	return errors.Join(errs...)
}

// printDatabases prints one row for each database, and one for an idle agent.
func printDatabases(out io.Writer, rows []row, idle usage) {
	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| database\t| CPU per put (span)\t| RssAnon (span)\t| peak RSS\t| bars\t|")
	fmt.Fprintln(w, "|---\t|---\t|---\t|---\t|---\t|")
	for _, r := range rows {
		cpuLo, cpuHi := span(r.runs, cpuOf)
		anonLo, anonHi := span(r.runs, anonOf)
		fmt.Fprintf(w, "| %s\t| %.1f us (%.1f-%.1f)\t| %.1f MB (%.1f-%.1f)\t| %.0f MB\t| %s\t|\n",
			r.name, median(r.runs, cpuOf), cpuLo, cpuHi, median(r.runs, anonOf), anonLo, anonHi, median(r.runs, peakOf), r.verdicts(rows))
	}
	fmt.Fprintf(w, "| idle agent\t|\t| %.1f MB\t| %.0f MB\t|\t|\n", anonOf(idle), peakOf(idle))
	w.Flush()
	fmt.Fprintf(out, "\nCPU is user and system time of the whole of `dbtester control`, start of the cluster and end included, over its puts; RssAnon its largest anonymous memory sampled every 20 ms.\n")
}
