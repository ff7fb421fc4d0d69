package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// classicDir is where classic experiment files lie that are not ours to publish.
func classicDir() string {
	if dir := os.Getenv("DBTESTER_CLASSIC_DIR"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "..", "shared", "classic")
}

// TestClassicRun runs a classic file from control to the classic outputs, at the
// paths that the file names.
func TestClassicRun(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	data, err := os.ReadFile(filepath.Join("..", "..", "test-configs", "classic-write-local.yaml"))
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	text := string(data)
	for i, host := range hosts {
		text = strings.ReplaceAll(text, "127.0.0."+string(rune('1'+i)), host)
	}
	if err := os.WriteFile(p.path("classic.yaml"), []byte(text), 0o644); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	c := p.start("control", "--local", "--requests", "3000", "--results", p.path("results"), "--config", "classic.yaml")
	c.exits(exitDone, patience)
	p.tidy()
	c = p.start("analyze", "--all", "--config", "classic.yaml")
	c.exits(exitDone, patience)
	wantText(t, "table", c.out.String(), `\| +etcd-v3\.6-local \(built-in\) \(ran 3\.7\.3\) \|`, `TOTAL-REQUEST-NUMBER \| +3,000 `,
		` VERSION \| +3\.7\.3 `, ` KEYS-FOUND \| +3,000 / 3,000 ok `, ` SHARED-HOST \| +3 members \+ client `, `(?m)^etcd-v3\.6-local \(ran 3\.7\.3\): shared host: `)
	for _, name := range []string{
		"client-system-metrics.csv", "client-system-metrics-interpolated.csv", "client-latency-throughput-timeseries.csv",
		"client-latency-distribution-all.csv", "client-latency-distribution-percentile.csv",
		"client-latency-distribution-summary.csv", "client-latency-by-key-number.csv", "server-disk-space-usage-summary.csv",
		"1-server-system-metrics-interpolated.csv", "3-server-system-metrics-interpolated.csv",
		"server-memory-by-key-number.csv", "server-read-bytes-delta-by-key-number.csv", "server-write-bytes-delta-by-key-number.csv",
		"etcd-all-aggregated.csv", "all-aggregated.csv", "all-aggregated.txt", "README.md",
		"AVG-LATENCY-MS.svg", "AVG-THROUGHPUT.png", "AVG-CPU.csv", "AVG-VMRSS-MB.svg",
	} {
		if info, err := os.Stat(p.path("classic-write-local", name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	readme, err := os.ReadFile(p.path("classic-write-local", "README.md"))
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	// One missing file is a reason, no file at all an error.
	p.remove("classic-write-local/client-latency-distribution-percentile.csv")
	c = p.start("analyze", "--all", "--config", "classic.yaml", "--out", "partial")
	c.exits(exitDone, patience)
	wantText(t, "partial table", c.out.String(), ` Latency p99 \| +not measured `, `p99\.99:\s+client-latency-distribution-percentile\.csv\s+is\s+missing`, ` VERSION \| +3\.7\.3 `)
	p.remove("classic-write-local")
	c = p.start("analyze", "--all", "--config", "classic.yaml", "--out", "nothing")
	c.exits(exitFailed, patience)
	wantText(t, "analysis of nothing", c.err.String(), `nothing to analyze: no file can be read`, `client-latency-distribution-summary\.csv is missing`)
	wantText(t, "README", string(readme), `##### Write 20K keys`, `!\[classic-write-local/AVG-LATENCY-MS\]\(\./AVG-LATENCY-MS\.svg\)`)
}

// remove removes everything below the place.
func (p place) remove(elem ...string) {
	p.t.Helper()
	if err := os.RemoveAll(p.path(elem...)); err != nil {
		p.t.Fatalf("remove the folder: %v", err)
	}
}

// TestClassicFiles checks classic files that were published.
func TestClassicFiles(t *testing.T) {
	if !apart(t) {
		return
	}
	files, err := filepath.Glob(filepath.Join(classicDir(), "configs", "*.yaml"))
	if err != nil {
		t.Fatalf("list the files: %v", err)
	}
	if len(files) < 5 {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%d classic files in %s: name their folder in DBTESTER_CLASSIC_DIR", len(files), classicDir())
		}
		t.Skip("the classic files are not here; set DBTESTER_CLASSIC_DIR")
	}
	checkFiles(t, files)
	planFiles(t, files)
}
