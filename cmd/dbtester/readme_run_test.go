package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// reader does as a README reader does: it runs the commands in its blocks, one after another, on
// loopback addresses instead of machines.
type reader struct {
	place
	hosts  []string
	agents []*command
}

// TestReadmeRuns runs every command in the README and docs/commands.md except those that .ci/run
// does, make and quickstart, and the download of a release.
func TestReadmeRuns(t *testing.T) {
	if testing.Short() && os.Getenv("CI") != "true" {
		t.Skip("installs a release of etcd, unless it is in the cache")
	}
	t.Parallel()
	var lines []string
	for _, name := range []string{"README.md", filepath.Join("docs", "commands.md")} {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatalf("read the file: %v", err)
		}
		lines = append(lines, commandLines(string(text), "sh")...)
	}
	r := &reader{place: newPlace(t), hosts: freeHosts(t)}
	r.twoDatabases()
	ran := 0
	for _, line := range lines {
		words := shellWords(line)
		if len(words) < 2 || slices.Contains([]string{"make", "curl", "tar"}, words[0]) || words[1] == "quickstart" {
			continue
		}
		if words[0] != "dbtester" {
			t.Errorf("%s: the test can't run it", line)
			continue
		}
		r.run(words[1:])
		ran++
	}
	if ran < 12 {
		t.Errorf("only %d commands ran: the test looks in the wrong place", ran)
	}
}

// run runs one command, with names of the reader in place of those in the README.
func (r *reader) run(args []string) {
	r.t.Helper()
	for i, arg := range args {
		args[i] = r.own(arg)
	}
	switch {
	case args[0] == "agent":
		for _, host := range r.hosts { // "and so on"
			mine := strings.Split(strings.ReplaceAll(strings.Join(args, "\n"), "HOST", host), "\n")
			r.agents = append(r.agents, r.start(mine...))
		}
		for _, a := range r.agents {
			a.says("agent listens")
		}
		return
	case args[0] == "selfcheck":
		args = append(args, "--duration", "1s")
	case slices.Contains(args, "--selfcheck"): // which checks before each load
		args = append(args, "--database-id", "etcd__second")
	}
	c := r.start(args...)
	c.exits(exitDone, 10*time.Minute)
	if args[0] == "config" && args[1] == "init" {
		r.edit(args[2])
	}
}

// own returns the reader's own name for a name in the README.
func (r *reader) own(arg string) string {
	switch {
	case arg == "gs://bucket/folder", arg == "gs://bucket/report": // the bucket of the reader is a folder here
		return "file://" + r.bucket()
	case arg == "gs://bucket/folder/TITLE/TIME":
		return "file://" + r.bucket() + "/" + strings.TrimPrefix(r.lastRun(), "results/")
	case arg == "FILE":
		return "two.yaml"
	case arg == "ID":
		return "etcd__second"
	case arg == "RUN", arg == "RUN1", arg == "RUN2":
		return r.lastRun()
	case strings.HasPrefix(arg, "10.0.0.2,"):
		return strings.Join(r.hosts, ",")
	case strings.HasSuffix(arg, "agent-10.0.0.2"):
		return strings.Replace(arg, "10.0.0.2", "HOST", 1)
	case strings.HasPrefix(arg, "10.0.0.2:"):
		return "HOST" + strings.TrimPrefix(arg, "10.0.0.2")
	case strings.HasPrefix(arg, "/var/lib/"):
		return r.path("work-HOST")
	case strings.HasPrefix(arg, "results/"):
		if last := r.lastRun(); filepath.Dir(last) == filepath.Dir(arg) {
			return last
		}
		r.t.Errorf("control printed %s, the README says %s", r.lastRun(), arg)
	}
	return arg
}

// bucket is the bucket of the reader: a folder.
func (r *reader) bucket() string {
	r.t.Helper()
	dir := r.path("bucket")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		r.t.Fatalf("make the bucket: %v", err)
	}
	return dir
}

// lastRun is the path that the last control printed.
func (r *reader) lastRun() string {
	r.t.Helper()
	runs := r.runs()
	if len(runs) == 0 {
		r.t.Fatal("control has not run yet")
	}
	path, err := filepath.Rel(r.dir, runs[len(runs)-1].Dir())
	if err != nil {
		r.t.Fatalf("find the relative path: %v", err)
	}
	return path
}

// edit names the machines of the reader in a new experiment file, and reduces its load.
func (r *reader) edit(file string) {
	r.t.Helper()
	text, err := os.ReadFile(r.path(file))
	if err != nil {
		r.t.Fatalf("read the file: %v", err)
	}
	edited := regexp.MustCompile(`(?m)^hosts: .*`).ReplaceAllString(string(text), "hosts: ["+strings.Join(r.hosts, ", ")+"]\nplots: [AVG-THROUGHPUT]")
	edited = regexp.MustCompile(`requests: \d+`).ReplaceAllString(edited, "requests: 1000")
	if err := os.WriteFile(r.path(file), []byte(edited), 0o644); err != nil {
		r.t.Fatalf("write a file for the test: %v", err)
	}
}

// twoDatabases writes the file that the README calls FILE.
func (r *reader) twoDatabases() {
	r.t.Helper()
	text := "title: two\nagent_certs: certs/control\nhosts: [" + strings.Join(r.hosts, ", ") + "]\nload: {requests: 500, clients: 5}\nplots: [AVG-THROUGHPUT]\n" +
		"databases:\n  etcd: {options: {log_level: error}}\n  etcd__second: {tag: second, options: {log_level: error}}\n"
	if err := os.WriteFile(r.path("two.yaml"), []byte(text), 0o644); err != nil {
		r.t.Fatalf("write a file for the test: %v", err)
	}
}
