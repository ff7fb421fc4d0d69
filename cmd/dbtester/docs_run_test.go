package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// page is a document whose lines are run in a separate folder.
type page struct {
	place
	document
	hosts []string
	env   []string // besides the environment of the test
}

// TestDocumentsRun runs the shell lines that documented leaves to it: those of each document one
// after another in a shell, with the changes listed there.
func TestDocumentsRun(t *testing.T) {
	if testing.Short() && os.Getenv("CI") != "true" {
		t.Skip("runs for half a minute")
	}
	t.Parallel()
	table := documented()
	for _, doc := range documents(t) {
		d := table[doc.name]
		mine := slices.DeleteFunc(shellLines(doc.text), func(line string) bool {
			i := d.how(line)
			return i < 0 || d.lines[i].by != "" || d.lines[i].why != ""
		})
		if len(mine) == 0 {
			continue
		}
		t.Run(doc.name, func(t *testing.T) {
			t.Parallel()
			p := &page{place: newPlace(t), document: doc, hosts: freeHosts(t)}
			if d.prepare != nil {
				d.prepare(p)
			}
			for _, line := range mine {
				p.line(line, d.lines[d.how(line)])
			}
		})
	}
}

// line runs one line from the document as a shell does.
func (p *page) line(line string, how shown) {
	p.t.Helper()
	if how.before != nil {
		how.before(p)
	}
	line = p.changed(line, how.change)
	if how.until != "" { // a signal must reach dbtester
		line = "exec " + line
	}
	c := p.launch("env", append(slices.Clone(p.env), "sh", "-c", line)...)
	if how.until != "" {
		c.says(how.until)
		c.signal(os.Interrupt)
	}
	select {
	case <-c.ended:
	case <-time.After(patience):
		p.t.Fatalf("%s did not end within %v:\n%s%s", line, patience, c.out, c.err)
	}
	text := c.out.String() + c.err.String()
	if code := c.cmd.ProcessState.ExitCode(); code != exitDone && !slices.Contains(how.codes, code) && !(code == exitInvalid && busy(c.err.String())) {
		p.t.Errorf("%s: exit code %d\n%s", line, code, text)
	}
	if !regexp.MustCompile(how.want).MatchString(text) {
		p.t.Errorf("%s must print something like %q, got\n%s", line, how.want, text)
	}
	p.t.Logf("%s: %v", line, time.Since(c.began).Round(time.Millisecond))
}

// changed replaces texts in the document with those of the test.
func (p *page) changed(text string, change []string) string {
	for i := 0; i+1 < len(change); i += 2 {
		text = strings.ReplaceAll(text, change[i], change[i+1])
	}
	for i, host := range p.hosts {
		text = strings.ReplaceAll(text, fmt.Sprint("HOST", i+1), host)
	}
	return text
}

// yaml returns the YAML block in the document that has a line with this beginning, changed.
func (p *page) yaml(begins string, change ...string) string {
	p.t.Helper()
	for _, block := range blocks(p.text, "yaml") {
		if !strings.Contains("\n"+block, "\n"+begins) {
			continue
		}
		for i := 0; i < len(change); i += 2 {
			if !strings.Contains(block, change[i]) {
				p.t.Fatalf("%s has no %q in its file of %q:\n%s", p.name, change[i], begins, block)
			}
		}
		return p.changed(block, change)
	}
	p.t.Fatalf("%s shows no YAML with a line that begins with %q", p.name, begins)
	return ""
}

func (p *page) write(name, text string) {
	p.t.Helper()
	p.mkdir(filepath.Dir(name))
	if err := os.WriteFile(p.path(name), []byte(text), 0o755); err != nil {
		p.t.Fatalf("write a file for the test: %v", err)
	}
}

func (p *page) mkdir(name string) {
	p.t.Helper()
	if err := os.MkdirAll(p.path(name), 0o755); err != nil {
		p.t.Fatalf("make a folder for the test: %v", err)
	}
}

// recorded makes a result folder from a load of some seconds, and few.yaml, with which its report
// has one plot.
func (p *page) recorded(name, id string) {
	p.t.Helper()
	p.experiment("few", p.hosts, "{requests: 1}")
	p.copied(recordedRuns(p.t.(*testing.T), id, 1, 2*time.Millisecond, nil)[0], name)
}

func (p *page) copied(from, name string) {
	p.t.Helper()
	if err := os.CopyFS(p.path(name), os.DirFS(from)); err != nil {
		p.t.Fatalf("copy a folder for the test: %v", err)
	}
}

// searchFile writes FILE: the experiment on the page, with one member and few keys.
func (p *page) searchFile() {
	p.write("FILE", p.yaml("hosts:", "127.0.0.1, 127.0.0.2, 127.0.0.3", "HOST1", "trials: 6", "trials: 1",
		"keys: 10000", "clients: 20, keys: 100", ", consul: {version: 1.16.0}", ""))
	p.startAgents(p.hosts[:1])
}

// kubeFiles writes the experiments for the commands on the page.
func (p *page) kubeFiles() {
	for _, line := range shellLines(p.text) {
		words := shellWords(line)
		i := slices.Index(words, "--config") + 1
		if i == 0 || i == len(words) {
			continue
		}
		experiment := p.yaml("title:")
		if strings.HasPrefix(words[i], "zookeeper") {
			experiment = strings.Replace(experiment, "etcd:", "zookeeper:", 1)
		}
		p.write(words[i], experiment)
	}
}

// twoReports makes two runs, and a folder with a report.
func (p *page) twoReports() {
	p.recorded("RUN1", "one")
	p.recorded("RUN2", "two")
	for _, name := range []string{"README.md", "report.html", "all-aggregated.json"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "test-results", "quickstart", name))
		if err != nil {
			p.t.Fatalf("read a report: %v", err)
		}
		p.write("test-results/quickstart/"+name, string(text))
	}
}

// threeMachines writes the experiment on the page, with certificates from this folder.
func (p *page) threeMachines() {
	p.start("certs", "init", "--hosts", "10.0.0.2,10.0.0.3,10.0.0.4").exits(exitDone, patience)
	p.write("three.yaml", p.yaml("title:", "/etc/dbtester/control", "certs/control"))
}

// troubles makes the inspected certificates and experiment.
func (p *page) troubles() {
	p.start("certs", "init", "--hosts", "10.0.0.2,10.0.0.3,10.0.0.4").exits(exitDone, patience)
	text, err := os.ReadFile(p.experiment("small", p.hosts, "{requests: 100, clients: 2}"))
	if err != nil {
		p.t.Fatalf("read the experiment: %v", err)
	}
	p.write("FILE", string(text))
}

// runningMember starts an etcd member on the first host.
func (p *page) runningMember() {
	client, peer := "http://"+p.hosts[0]+":2379", "http://"+p.hosts[0]+":2380"
	etcd := p.start("serve", "etcd", "--data-dir="+p.path("data"), "--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer, "--logger=zap", "--log-outputs=stderr")
	etcd.says("ready to serve client requests")
}

// sharedCluster makes the experiment on the page leave keys on a running cluster.
func (p *page) sharedCluster() {
	p.runningMember()
	p.write("shared.yaml", p.yaml("title:", "requests: 100000, clients: 100", "requests: 200, clients: 4",
		"10.0.0.2:2379, 10.0.0.3:2379, 10.0.0.4:2379", "HOST1:2379", "    cleanup: true\n", "", "    guard: {p99: 100ms, errors: 1%, db_size: 80%}\n", "",
		"    tls: {ca: certs/ca.pem, cert: certs/client.pem, key: certs/client-key.pem}\n", "", "    auth: {user: bench, password_env: ETCD_PASSWORD}\n", ""))
	c := p.start("control", "--config", "shared.yaml") // a slow machine does not keep the rate
	select {
	case <-c.ended:
	case <-time.After(patience):
		p.t.Fatalf("control did not end within %v:\n%s%s", patience, c.out, c.err)
	}
	m := manifest(p.t, p.runs()[0])
	if db := m.Databases[0]; db.State != results.StateComplete || db.Totals.OK == 0 {
		p.t.Errorf("the load: %s, %+v", db.State, db.Totals)
	}
}

// compareLines are the lines in compare.md. Lines that make runs are interrupted in the first run,
// because ci.md has one that is not. They use the built-in release, which is available.
func compareLines() tested {
	makes := func(begins string) shown {
		return shown{begins: begins, codes: []int{exitInterrupted}, until: "pair 1, side", change: []string{"3.6.16", "3.7.3"}}
	}
	finds := shown{begins: "dbtester compare runs/main/* --to runs/branch/* --metric throughput", codes: []int{exitWorse, exitInconclusive}, want: "p99"}
	capacity := shown{begins: "dbtester compare runs/main/* --to runs/branch/* --metric capacity", codes: []int{exitWorse}, want: "worse than A: capacity"}
	capacity.before = func(p *page) {
		p.comparedRuns(searches(p.t.(*testing.T), "a", 20_000, 20_100, 19_900, 20_050), searches(p.t.(*testing.T), "b", 18_000, 18_100, 17_900, 18_050))
	}
	prepare := func(p *page) {
		t := p.t.(*testing.T)
		p.comparedRuns(recordedRuns(t, "a", 4, 2*time.Millisecond, nil), recordedRuns(t, "b", 4, 3*time.Millisecond, nil))
		for _, name := range []string{"main", "branch", "local"} {
			p.experiment(name, p.hosts[:1], "{duration: 20s, clients: 2}")
		}
		p.write("search.yaml", p.changed("hosts: [HOST1]\ncapacity: {latency: 20ms}\nload: {keys: 100}\ndatabases: {etcd: }\n", nil))
		p.write("faults.yaml", p.changed("hosts: [HOST1]\nload: {operation: write, rate: 50, duration: 20s, clients: 2, timeout: 2s}\nfaults:\n- {kind: kill, member: 1, at: 5s, for: 1s}\ndatabases: {etcd: }\n", nil))
		p.write("bin/etcd", "#!/bin/sh\nexec dbtester serve etcd \"$@\"\n")
	}
	return tested{prepare, []shown{
		makes("dbtester compare --a main.yaml --b branch.yaml"), makes("dbtester compare --config local.yaml"),
		makes("dbtester compare --config search.yaml"), makes("dbtester compare --config faults.yaml"), finds, capacity,
	}}
}

// comparedRuns makes the runs for both sides.
func (p *page) comparedRuns(a, b []string) {
	p.t.Helper()
	if err := os.RemoveAll(p.path("runs")); err != nil {
		p.t.Fatalf("remove the runs: %v", err)
	}
	for side, folders := range map[string][]string{"main": a, "branch": b} {
		for _, folder := range folders {
			p.copied(folder, filepath.Join("runs", side, filepath.Base(folder)))
		}
	}
}
