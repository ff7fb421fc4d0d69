package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/answers/compare"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/control/before/versus"
	"github.com/coreos/dbtester/pkg/database/all"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// recordedRuns writes n runs whose latencies are base and a little more for each.
func recordedRuns(t *testing.T, name string, n int, base time.Duration, change func(*runtest.Fixture, *results.DatabaseRun)) (folders []string) {
	t.Helper()
	for i := range n {
		f := runtest.NewFixture(t, filepath.Join(t.TempDir(), fmt.Sprintf("%s-%d", name, i+1)))
		f.Alike, f.M.RunID = true, fmt.Sprint(name, i)
		r := f.Database("etcd-v3.6", base+time.Duration(i)*10*time.Microsecond)
		if change != nil {
			change(f, r)
		}
		folders = append(folders, f.Write())
	}
	return folders
}

// TestCompare: the result of a comparison determines its exit code.
func TestCompare(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	a, b := recordedRuns(t, "a", 4, 2*time.Millisecond, nil), recordedRuns(t, "b", 4, 3*time.Millisecond, nil)
	invalid := recordedRuns(t, "c", 1, 3*time.Millisecond, func(_ *runtest.Fixture, r *results.DatabaseRun) {
		r.Validity = []results.Mark{{Code: "server lost", Invalid: true, Text: "member 1"}}
	})
	other := recordedRuns(t, "d", 1, 3*time.Millisecond, func(_ *runtest.Fixture, r *results.DatabaseRun) { r.Load.ValueSize = 7 })
	args := func(parts ...any) (list []string) {
		for _, p := range parts {
			switch p := p.(type) {
			case string:
				list = append(list, p)
			case []string:
				list = append(list, p...)
			}
		}
		return list
	}
	small := filepath.Join(t.TempDir(), "small.yaml")
	if err := os.WriteFile(small, []byte("hosts: [127.0.0.1]\nload: {duration: 5s}\ndatabases: {etcd: }\n"), 0o600); err != nil {
		t.Fatalf("write the file: %v", err)
	}
	metric := "--metric=p50"
	for _, tt := range []struct {
		name      string
		args      []string
		code      int
		out, errs string
	}{
		{"worse", args(metric, a, "--to", b), exitWorse, "note: not interleaved", "B is worse than A: p50"},
		{"better", args(b, "--to", a, metric), exitDone, "B is better than A: p50", ""},
		{"equivalent", args("--metric", "throughput", a, "--to", b[:3]), exitDone, "B is equivalent to A within 3 %", ""},
		{"too few", args(metric, a[:2], "--to", b[:2]), exitInconclusive, "p50: a difference of any size needs at least 4 runs of each", "It is not known"},
		{"invalid before worse", args(metric, a, "--to", b, invalid), exitInvalid, "INVALID c-1 (B5): server lost", "not valid"},
		{"another load", args(metric, a[:1], "--to", other), exitUsage, "", "value_size: 1024 in A1, 7 in B1"},
		{"joined", args(metric, a[:1], "--to="+b[0], b[1:2]), exitInconclusive, "B: etcd-v3.6, 2 runs: b-1, b-2", ""},
		{"markdown", args(metric, "--format", "markdown", a[:1], "--to", b[:1]), exitInconclusive, "### Compare: inconclusive", ""},
		{"no side", args(a), exitUsage, "", "then --to, then those of B"},
		{"two sides too many", args(a, "--to", b, "--to", b), exitUsage, "", "can be given once"},
		{"unknown metric", args("--metric", "p42", a, "--to", b), exitUsage, "", `got "p42"`},
		{"unknown format", args("--format", "xml", a, "--to", b), exitUsage, "", `got "xml"`},
		{"margin", args("--margin", "0.03", a, "--to", b), exitUsage, "", `got "0.03"`},
		{"A without B", args("--a", "../../test-configs/local-etcd-write-100k.yaml"), exitUsage, "", "needs both --a FILE and --b FILE"},
		{"a version without a file", args("--b-version", "3.6.16"), exitUsage, "", "needs both --a FILE and --b FILE, or --config FILE"},
		{"one file and no change", args("--config", "x.yaml"), exitUsage, "", "--config needs a version, executable or checkout for A or B"},
		{"three files", args("--config", "x.yaml", "--a", "y.yaml", "--b-version", "3.6.16"), exitUsage, "", "--config is the file of both sides"},
		{"an absent executable", args("--config", "../../test-configs/local-etcd-write-100k.yaml", "--b-exec", "/nowhere/etcd"), exitUsage, "", "/nowhere/etcd"},
		{"budget and pairs", args("--a", "x.yaml", "--b", "y.yaml", "--budget", "20m", "--pairs", "4"), exitUsage, "", "--budget plans the pairs"},
		{"no budget", args("--a", "x.yaml", "--b", "y.yaml", "--budget", "0s"), exitUsage, "", "budget must be positive, got 0s"},
		{"a small budget", args("--config", small, "--b-version", "3.6.16", "--budget", "1m"), exitUsage, "", "budget must allow 8 pairs and 2 more to confirm"},
		{"good for bisect", args("--bisect", "--metric", "throughput", a, "--to", b[:3]), bisectGood, "", ""},
		{"bad for bisect", args("--bisect", metric, a, "--to", b), bisectBad, "", "B is worse"},
		{"not known for bisect", args("--bisect", metric, a[:2], "--to", b[:2]), bisectSkip, "", "It is not known"},
		{"invalid for bisect", args("--bisect", metric, a, "--to", b, invalid), bisectSkip, "", "not valid"},
		{"wrong for bisect", args("--margn", "5%", "--bisect", a, "--to", b), bisectEnd, "", "margn"},
		{"wrong for bisect in the long form", args("--margn", "5%", "--bisect=true", a, "--to", b), bisectEnd, "", "margn"},
		{"wrong and not for bisect", args("--margn", "5%", "--bisect=false", a, "--to", b), exitUsage, "", "margn"},
		{"a folder for bisect", args("--bisect", "--config", t.TempDir(), "--b-version", "3.6.16"), bisectEnd, "", "must be a regular file"},
		{"a version and an executable over it", args("--config", small, "--b-version", "3.6.16", "--etcd-exec", "/bin/sh"), exitUsage, "", "--etcd-exec would run in place of B's version 3.6.16"},
		{"too many pairs", args("--a", "x.yaml", "--b", "y.yaml", "--pairs", "60"), exitUsage, "", "at most 58 pairs can be made, and 2 more to confirm, got 60"},
		{"runs and files", args("--a", "x.yaml", "--b", "y.yaml", a), exitUsage, "", "name runs, or experiment files"},
		{"odd pairs", args("--a", "x.yaml", "--b", "y.yaml", "--pairs", "3"), exitUsage, "", "pairs must be an even number of at least 2, got 3"},
		{"until before pairs", args("--a", "x.yaml", "--b", "y.yaml", "--until", "4"), exitUsage, "", "until must be an even number of at least the 8 pairs, got 4"},
		{"several databases", args("--a", "../../test-configs/all-five-local.yaml", "--b", "y.yaml"), exitUsage, "", "must have one database to be compared, got 5"},
		{"no database of this name", args("--tag", "zk", a[:1], "--to", b[:1]), exitUsage, "", "holds etcd-v3.6: choose one"},
	} {
		code, out, errs := program(t, append([]string{"compare"}, tt.args...)...)
		if code != tt.code || !strings.Contains(out, tt.out) || !strings.Contains(errs, tt.errs) {
			t.Errorf("%s: exit code %d, want %d with %q and %q:\n%s%s", tt.name, code, tt.code, tt.out, tt.errs, out, errs)
		}
	}
}

// A comparison is printed in each format that the flag offers.
func TestCompareFormats(t *testing.T) {
	t.Parallel()
	a, b := recordedRuns(t, "a", 1, 2*time.Millisecond, nil), recordedRuns(t, "b", 1, 3*time.Millisecond, nil)
	code, offered, _ := program(t, "__complete", "compare", "--format", "")
	if code != exitDone || !strings.Contains(offered, formatJUnit) {
		t.Fatalf("the formats of compare: exit code %d: %s", code, offered)
	}
	for _, format := range strings.Fields(offered) {
		if strings.HasPrefix(format, ":") { // completion options for the shell
			break
		}
		code, out, errs := program(t, "compare", "--format", format, a[0], "--to", b[0])
		if code != exitInconclusive || out == "" {
			t.Errorf("--format %s: exit code %d, want %d and a text: %q\n%s", format, code, exitInconclusive, out, errs)
		}
	}
}

// TestComparePlan: lengths that depend on a guessed throughput are not planned, and differing steps
// are separate stages.
func TestComparePlan(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		load   string
		pair   time.Duration
		stages int
	}{
		{"{duration: 5s}", 20 * time.Second, 1},
		{"{requests: 100000}", 0, 1},
		{"{steps: [{clients: 1, duration: 5s}, {clients: 10, duration: 5s}, {clients: 1, duration: 5s}]}", 40 * time.Second, 2},
	} {
		path := filepath.Join(t.TempDir(), "plan.yaml")
		if err := os.WriteFile(path, []byte("seed: 7\nhosts: [127.0.0.1]\nload: "+tt.load+"\ndatabases: {etcd: }\n"), 0o600); err != nil {
			t.Fatalf("write the file: %v", err)
		}
		var out bytes.Buffer
		a := &app{streams: streams{nil, &out, &out}, registry: all.Registry()}
		f := compareFlags{made: makeFlags{a: versus.Side{Name: "A", File: path}, b: versus.Side{Name: "B", File: path, Version: "3.6.16"}}}
		f.made.control.cache = t.TempDir()
		s := &compare.Session{}
		if err := (comparison{app: a, flags: &f}).prepareSides(t.Context(), s); err != nil {
			t.Errorf("%s: %v", tt.load, err)
			continue
		}
		if s.Budget.Pair != tt.pair || s.Stages != tt.stages || s.Seed != 7 {
			t.Errorf("%s: a pair of %v, %d stages and the seed %d; want %v, %d and 7", tt.load, s.Budget.Pair, s.Stages, s.Seed, tt.pair, tt.stages)
		}
	}
}

// TestCompareOutput: the report is written in all formats whatever the verdict is.
func TestCompareOutput(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	a, b := recordedRuns(t, "a", 4, 2*time.Millisecond, nil), recordedRuns(t, "b", 4, 3*time.Millisecond, nil)
	dir := filepath.Join(t.TempDir(), "out")
	code, out, errs := program(t, "compare", "--metric", "p50", "--output", dir, a[0], a[1], a[2], a[3], "--to", b[0], b[1], b[2], b[3])
	if code != exitWorse {
		t.Errorf("exit code %d, want %d:\n%s", code, exitWorse, errs)
	}
	text, err := os.ReadFile(filepath.Join(dir, "compare.txt"))
	if err != nil || string(text) != out {
		t.Errorf("compare.txt: %v, want what was printed:\n%s", err, text)
	}
	for _, name := range []string{"md", "json", "csv", "svg", "png"} {
		if info, err := os.Stat(filepath.Join(dir, "compare."+name)); err != nil || info.Size() == 0 {
			t.Errorf("compare.%s: %v, want a file with something in it", name, err)
		}
	}
}

// TestCompareExecutables makes two pairs of runs with the embedded server and an executable that
// runs the same server.
func TestCompareExecutables(t *testing.T) {
	if testing.Short() {
		t.Skip("makes four runs")
	}
	t.Parallel()
	p := newPlace(t)
	file := p.experiment("alike", freeHosts(t)[:1], "{requests: 200, clients: 2}")
	program := p.path("etcd-branch")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec dbtester serve etcd \"$@\"\n"), 0o755); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	c := p.start("compare", "--local", "--config", file, "--b-exec", program, "--pairs", "2", "--results", p.path("out"), "--format", "json")
	c.exits(exitInconclusive, 5*time.Minute) // two pairs show nothing
	wantText(t, "report", c.out.String(), `"server: A: as in alike.yaml; B: etcd `+program+`, sha256 [0-9a-f]{12}"`, `"interleaved": true`, `at least 7 pairs`)
	wantText(t, "progress", c.err.String(), `2 pairs cannot show a change of any size: at least 8 are needed`, `pair 2, side B`)
	for _, name := range []string{"compare.md", "compare.png"} {
		if _, err := os.Stat(p.path("out", name)); err != nil {
			t.Errorf("the report's folder: %v", err)
		}
	}
}
