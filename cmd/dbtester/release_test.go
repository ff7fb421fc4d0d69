package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRealRelease installs an etcd other than the built-in one into the user cache, where the next
// run finds it, and measures three members with it. The first time takes a minute of CPU time and
// needs the network; CI never skips it.
func TestRealRelease(t *testing.T) {
	if testing.Short() && os.Getenv("CI") != "true" {
		t.Skip("builds a release of etcd, unless it is in the cache")
	}
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	text := fmt.Sprintf("title: release\nresults: %s\nhosts: [%s]\nload: {requests: 1000, clients: 50}\nplots: [AVG-THROUGHPUT]\ndatabases:\n  etcd__v3_6: {version: v3.6.16, install: true}\n",
		p.path("results"), strings.Join(hosts, ", "))
	if err := os.WriteFile(p.path("release.yaml"), []byte(text), 0o644); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	c := p.start("control", "--local", "--config", "release.yaml")
	c.exits(exitDone, 10*time.Minute)
	wantText(t, "progress", c.err.String(), `etcd-v3\.6\.16: install\n`, `:3500 has etcd 3\.6\.16 \((archive|go build)\)`)
	p.tidy()
	run := manifest(t, p.runs()[0]).Databases[0]
	for _, m := range run.Members {
		if m.Version != "3.6.16" || m.Release == nil || m.Release.Version != "3.6.16" || len(m.Release.SHA256["etcd"]) != 64 ||
			!slices.Contains([]string{"archive", "go build"}, m.Release.Kind) || run.Built != m.Release.Kind {
			t.Errorf("member %d says that it is %s, and ran %+v", m.Index, m.Version, m.Release)
		}
		if !strings.HasSuffix(m.Argv[0][0], filepath.Join("etcd", "3.6.16", "etcd")) {
			t.Errorf("member %d ran %s", m.Index, m.Argv[0][0])
		}
	}
	if run.Totals == nil || run.Totals.OK != 1000 {
		t.Errorf("totals %+v", run.Totals)
	}
	c = p.start("analyze", "--all", filepath.Dir(p.runs()[0].Path("manifest.json")))
	c.exits(exitDone, time.Minute)
	wantText(t, "table", c.out.String(), `\| +etcd-v3\.6\.16 +\|`)
}
