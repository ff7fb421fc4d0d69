package versus_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/dbtester/control/before/versus"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database/all"
	"github.com/coreos/dbtester/pkg/install"
)

// write writes a file for the test and returns its path.
func write(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	return path
}

const experiment = "hosts: [127.0.0.1]\nload: {requests: 10}\ndatabases: {etcd: }\n"

func preparer(t *testing.T) *versus.Preparer {
	registry := all.Registry()
	return &versus.Preparer{Registry: registry, Installer: &install.Installer{Cache: t.TempDir()}, Upstream: true}
}

// TestPrepare: a release, executable or checkout replaces the server in the file, with the defaults
// of its release unless the file decides otherwise.
func TestPrepare(t *testing.T) {
	t.Parallel()
	plain := write(t, "plain.yaml", experiment, 0o600)
	own := write(t, "own.yaml", "defaults: dbtester\n"+experiment, 0o600)
	given := write(t, "given.yaml", strings.Replace(experiment, "etcd: ", "etcd: {version: v3.4.13, install: true}", 1), 0o600)
	program := write(t, "etcd-branch", "#!/bin/sh\n", 0o700)
	for _, tt := range []struct {
		name                      string
		side                      versus.Side
		version, binary, snapshot string
		install                   bool
		runs                      string
	}{
		{"the file", versus.Side{File: plain}, "", "", "10000", false, "as in plain.yaml"},
		{"a release", versus.Side{File: plain, Version: "v3.6.16"}, "3.6.16", "", "10000", true, "etcd 3.6.16"},
		{"an older release", versus.Side{File: plain, Version: "3.5.35"}, "3.5.35", "", "100000", true, "etcd 3.5.35"},
		{"the file's defaults", versus.Side{File: own, Version: "3.6.16"}, "3.6.16", "", "100000", true, "etcd 3.6.16"},
		{"in place of the file's release", versus.Side{File: given, Version: "3.6.16"}, "3.6.16", "", "10000", true, "etcd 3.6.16"},
		{"an executable", versus.Side{File: plain, Exec: program}, "", program, "10000", false, "etcd " + program + ", sha256 "},
		{"an executable of a release", versus.Side{File: given, Exec: program, Version: "3.5.35"}, "3.5.35", program, "100000", false, "etcd " + program},
	} {
		tt.side.Name = "A"
		if _, err := preparer(t).Prepare(t.Context(), &tt.side); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		e, _, err := tt.side.Read(preparer(t).Registry.All())
		if err != nil {
			t.Errorf("%s: read the experiment: %v", tt.name, err)
			continue
		}
		db := &e.Databases[0]
		if got := db.OptionTexts()["snapshot_count"]; db.Version != tt.version || db.Binary != tt.binary || db.Install != tt.install || got != tt.snapshot {
			t.Errorf("%s: version %q, executable %q, install %v, snapshot_count %s; want %q, %q, %v, %s", tt.name, db.Version, db.Binary, db.Install, got, tt.version, tt.binary, tt.install, tt.snapshot)
		}
		if words := versus.Change(&tt.side, &versus.Side{File: "other.yaml", Version: "3.7.3"}); !strings.Contains(words, "server: A: "+tt.runs) {
			t.Errorf("%s: the change is %q, want %q", tt.name, words, tt.runs)
		}
	}
}

// TestSame: A against A is no change.
func TestSame(t *testing.T) {
	t.Parallel()
	a := versus.Side{Name: "A", File: write(t, "plain.yaml", experiment, 0o600), Version: "3.6.16"}
	b := a
	b.Name = "B"
	for _, s := range []*versus.Side{&a, &b} {
		if _, err := preparer(t).Prepare(t.Context(), s); err != nil {
			t.Fatalf("prepare the side: %v", err)
		}
	}
	if words := versus.Change(&a, &b); words != "" {
		t.Errorf("the change is %q, want none", words)
	}
}

// TestMistakes: impossible sides are user mistakes, named.
func TestMistakes(t *testing.T) {
	t.Parallel()
	plain := write(t, "plain.yaml", experiment, 0o600)
	running := write(t, "running.yaml", "load: {requests: 10}\ndatabases: {etcd: {endpoints: ['127.0.0.1:2379']}}\n", 0o600)
	several := write(t, "several.yaml", strings.Replace(experiment, "{etcd: }", "{etcd: , consul: }", 1), 0o600)
	trials := write(t, "trials.yaml", "trials: 3\n"+experiment, 0o600)
	consul := write(t, "consul.yaml", strings.Replace(experiment, "etcd", "consul", 1), 0o600)
	search := write(t, "search.yaml", "hosts: [127.0.0.1]\ncapacity: {latency: 20ms}\nload: {keys: 100}\ndatabases: {etcd: }\n", 0o600)
	for _, tt := range []struct {
		name string
		side versus.Side
		want string
	}{
		{"a search for a capacity", versus.Side{File: search}, "can be compared only by the metric capacity"},
		{"a folder", versus.Side{File: t.TempDir()}, "must be a regular file, got a directory"},
		{"no file", versus.Side{File: "/nowhere.yaml"}, "/nowhere.yaml"},
		{"no checkout", versus.Side{File: plain, Source: "/nowhere/etcd"}, "/nowhere/etcd"},
		{"several databases", versus.Side{File: several}, "must have one database to be compared, got 2"},
		{"trials", versus.Side{File: trials}, "must have one trial, got 3"},
		{"a running cluster", versus.Side{File: running, Version: "3.6.16"}, "already running"},
		{"no release", versus.Side{File: plain, Version: "newest"}, "must be one such as 3.6.16"},
		{"no executable", versus.Side{File: plain, Exec: plain}, "must be an executable file"},
		{"an absent executable", versus.Side{File: plain, Exec: "/nowhere/etcd"}, "/nowhere/etcd"},
		{"two executables", versus.Side{File: plain, Exec: plain, Source: "/"}, "not both"},
		{"no way to build", versus.Side{File: consul, Source: t.TempDir()}, "build consul from source"},
	} {
		tt.side.Name = "B"
		_, err := preparer(t).Prepare(t.Context(), &tt.side)
		if mistake := (versus.MistakeError{}); !errors.As(err, &mistake) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want a mistake with %q", tt.name, err, tt.want)
		}
	}
}

// TestSearches: sides that are compared by their capacity search for it.
func TestSearches(t *testing.T) {
	t.Parallel()
	p := preparer(t)
	p.Capacity = true
	search := versus.Side{Name: "A", File: write(t, "search.yaml", "hosts: [127.0.0.1]\ncapacity: {latency: 20ms}\nload: {keys: 100}\ndatabases: {etcd: }\n", 0o600)}
	if _, err := p.Prepare(t.Context(), &search); err != nil {
		t.Errorf("prepare a search: %v", err)
	}
	plain := versus.Side{Name: "B", File: write(t, "plain.yaml", experiment, 0o600)}
	_, err := p.Prepare(t.Context(), &plain)
	if mistake := (versus.MistakeError{}); !errors.As(err, &mistake) || !strings.Contains(err.Error(), "plain.yaml must search for a capacity") {
		t.Errorf("prepare a load: %v, want a mistake", err)
	}
}

// TestUnlike: searches for different capacities are refused with the keys and their places, and
// another hold is no difference.
func TestUnlike(t *testing.T) {
	t.Parallel()
	read := func(name, keys string) *config.Experiment {
		side := versus.Side{File: write(t, name, "hosts: [127.0.0.1]\ncapacity: {"+keys+"}\nload: {keys: 100}\ndatabases: {etcd: }\n", 0o600)}
		e, _, err := side.Read(preparer(t).Registry.All())
		if err != nil {
			t.Fatalf("read %s: %v", name, err)
		}
		return e
	}
	a := read("a.yaml", "latency: 20ms, at: p99, hold: 30s")
	if err := versus.Unlike(a, read("b.yaml", "at: p99, latency: 20ms")); err != nil {
		t.Errorf("searches for the same capacity: %v", err)
	}
	err := versus.Unlike(a, read("b.yaml", "latency: 50ms, window: 4s"))
	for _, want := range []string{"capacity.latency must be the same in both files", "20ms (", "a.yaml:2:21)", "50ms (", "b.yaml:2:21)", "capacity.window must be", "8s (by default in ", "4s (", "b.yaml:2:35)"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("searches for different capacities: %v, want %q", err, want)
		}
	}
	if err != nil && strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("two keys differ, got %v", err)
	}
}
