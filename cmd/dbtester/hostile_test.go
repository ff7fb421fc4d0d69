package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// wholeHostile is set by make hostile: all cases, not one of each kind.
func wholeHostile() bool { return os.Getenv("DBTESTER_HOSTILE") != "" }

// hostileRun is an untrusted run folder, next to files that it must not reach.
type hostileRun struct {
	t *testing.T
	// dir is the run folder, other the folder of another run for comparison, outside the target of
	// links, and store the destination of uploads.
	dir, other, outside, store string
	dialed                     *counted
}

const hostileSecret = "a-secret-that-is-nobodys-business"

func newHostileRun(t *testing.T, dialed *counted) *hostileRun {
	t.Helper()
	base := t.TempDir()
	h := &hostileRun{t: t, outside: filepath.Join(base, "outside"), store: filepath.Join(base, "store"), dialed: dialed}
	f := runtest.NewFixture(t, filepath.Join(base, "title", "20270115T080000Z"))
	run := f.Database("etcd-v3.6", 2*time.Millisecond)
	run.Shared = &results.Shared{Prefix: "bench/blue", Left: 5}
	f.M.Config = json.RawMessage(fmt.Sprintf(`{"classic":true,"databases":[{"tag":"etcd-v3.6","endpoints":[%q]}]}`, dialed.listener.Addr()))
	run.Options = json.RawMessage("{}")
	h.dir = f.Write()
	sound := runtest.NewFixture(t, filepath.Join(base, "title", "20270116T080000Z"))
	sound.M.RunID = "ffeeddccbbaa99887766554433221100"
	sound.Database("etcd-v3.6", 2*time.Millisecond)
	h.other = sound.Write()
	note := fmt.Sprintf(`{"format":1,"run_id":"00112233445566778899aabbccddeeff","agents":[%q]}`, dialed.listener.Addr())
	if err := os.WriteFile(h.path("etcd-v3.6", ".sessions.json"), []byte(note), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{h.outside, h.store} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{results.FileManifest, results.FileIntervals, "1-etcd.log"} {
		if err := os.WriteFile(filepath.Join(h.outside, name), []byte(hostileSecret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// counted accepts connections, counts them, and closes them.
type counted struct {
	listener net.Listener
	mu       sync.Mutex
	n        int
}

func newCounted(t *testing.T) *counted {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{listener: l}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.mu.Lock()
			c.n++
			c.mu.Unlock()
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return c
}

func (c *counted) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func (h *hostileRun) path(elem ...string) string {
	return filepath.Join(append([]string{h.dir}, elem...)...)
}

// edit replaces a text in the manifest, which must have it.
func (h *hostileRun) edit(from, to string) {
	h.t.Helper()
	text := readText(h.t, h.path(results.FileManifest))
	if !strings.Contains(text, from) {
		h.t.Fatalf("the manifest has no %q", from)
	}
	h.manifest(strings.ReplaceAll(text, from, to))
}

func (h *hostileRun) manifest(text string) {
	h.t.Helper()
	if err := os.WriteFile(h.path(results.FileManifest), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// inPlaceOf replaces a file or folder in the run with something else.
func (h *hostileRun) inPlaceOf(name string, do func(path string) error) {
	h.t.Helper()
	path := h.path(name)
	if err := errors.Join(os.RemoveAll(path), do(path)); err != nil {
		h.t.Fatal(err)
	}
}

func linkTo(target string) func(string) error {
	return func(path string) error { return os.Symlink(target, path) }
}

func fifo(path string) error { return syscall.Mkfifo(path, 0o600) }

// hole makes a file with that many bytes that uses no disk space.
func hole(size int64) func(string) error {
	return func(path string) error {
		return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, size))
	}
}

// hostileVerb is a command for run folders.
type hostileVerb struct {
	name string
	args func(h *hostileRun, to string) []string
}

func hostileVerbs() []hostileVerb {
	return []hostileVerb{
		{"analyze", func(h *hostileRun, to string) []string { return []string{"analyze", "--out", to, h.dir} }},
		{"compare", func(h *hostileRun, _ string) []string { return []string{"compare", h.dir, "--to", h.other} }},
		{"submit", func(h *hostileRun, to string) []string { return []string{"submit", h.dir, "--to", to + ".tar.gz"} }},
		{"upload", func(h *hostileRun, _ string) []string { return []string{"upload", h.dir, "file://" + h.store} }},
		{"cleanup", func(h *hostileRun, _ string) []string { return []string{"cleanup", "--yes", h.dir} }},
		{"collect", func(h *hostileRun, _ string) []string { return []string{"control", "--collect", h.dir} }},
	}
}

// hostileFolder is one untrusted run folder.
type hostileFolder struct {
	kind, name string
	damage     func(*hostileRun)
	// endless means that the folder has more data than any machine could send: it is not uploaded.
	endless bool
}

func edited(name, from, to string) hostileFolder {
	return hostileFolder{"manifest", name, func(h *hostileRun) { h.edit(from, to) }, false}
}

func replaced(name, text string) hostileFolder {
	return hostileFolder{"manifest", name, func(h *hostileRun) { h.manifest(text) }, false}
}

func hostileFolders() []hostileFolder {
	const tag, prefix = `"tag": "etcd-v3.6"`, `"prefix": "bench/blue"`
	return []hostileFolder{
		edited("a tag that leads out", tag, `"tag": "../../outside"`),
		edited("an absolute tag", tag, `"tag": "/etc"`),
		edited("a tag of the report", tag, `"tag": "report"`),
		edited("a tag with a terminal's orders", tag, `"tag": "\u001b[2J\u0007"`),
		edited("a prefix of others", prefix, `"prefix": "bench/"`),
		edited("a prefix of Kubernetes", prefix, `"prefix": "/registry"`),
		edited("no prefix's element", prefix, `"prefix": "."`),
		edited("a prefix that leads out", prefix, `"prefix": "bench/../victim"`),
		edited("a prefix with a line break", prefix, `"prefix": "bench\nblue"`),
		edited("a long prefix", prefix, `"prefix": "`+strings.Repeat("a", 1<<16)+`"`),
		edited("an endpoint with a terminal's orders", `"endpoints": [`, `"endpoints": ["\u001b]0;x\u0007:1",`),
		edited("an endpoint without a port", `"endpoints": [`, `"endpoints": ["etcd",`),
		edited("an unknown database", `"database": "etcd"`, `"database": "\u001b[2Jdb"`),
		edited("a negative number of members", `"index": 1`, `"index": -1`),
		edited("a large number of a member", `"index": 1`, `"index": 9223372036854775807`),
		edited("a size that is negative", `"value_size_bytes": 1024`, `"value_size_bytes": -1`),
		edited("many clients", `"clients": 10`, `"clients": 9223372036854775807`),
		edited("many requests", `"requests": 6000`, `"requests": -9223372036854775808`),
		edited("a time before all", `"load_start": "2027`, `"load_start": "0000`),
		edited("a time after all", `"load_end": "2027`, `"load_end": "9999`),
		edited("another format", `"format": `, `"format": 99999`),
		replaced("an empty file", ""),
		replaced("null", "null"),
		replaced("no databases", `{"format":6,"databases":[null]}`),
		replaced("an abyss", `{"config":`+strings.Repeat("[", 1<<20)),
		{"link", "a tag's folder that lies elsewhere", func(h *hostileRun) { h.inPlaceOf("etcd-v3.6", linkTo(h.outside)) }, false},
		{"link", "a record that lies elsewhere", func(h *hostileRun) {
			h.inPlaceOf("etcd-v3.6/"+results.FileIntervals, linkTo(filepath.Join(h.outside, results.FileIntervals)))
		}, false},
		{"link", "a manifest that lies elsewhere", func(h *hostileRun) {
			h.inPlaceOf(results.FileManifest, linkTo(filepath.Join(h.outside, results.FileManifest)))
		}, false},
		{"link", "logs that lie elsewhere", func(h *hostileRun) { h.inPlaceOf("etcd-v3.6/"+results.DirLogs, linkTo(h.outside)) }, false},
		{"link", "events that lie elsewhere", func(h *hostileRun) {
			h.inPlaceOf("etcd-v3.6/"+results.FileEvents, linkTo(filepath.Join(h.outside, "1-etcd.log")))
		}, false},
		{"link", "a report that lies elsewhere", func(h *hostileRun) { h.inPlaceOf(results.DirReport, linkTo(h.outside)) }, false},
		{"device", "a manifest that is a pipe", func(h *hostileRun) { h.inPlaceOf(results.FileManifest, fifo) }, false},
		{"device", "a record that is a pipe", func(h *hostileRun) { h.inPlaceOf("etcd-v3.6/"+results.FileIntervals, fifo) }, false},
		{"device", "a manifest without an end", func(h *hostileRun) { h.inPlaceOf(results.FileManifest, linkTo("/dev/zero")) }, false},
		{"device", "a record without an end", func(h *hostileRun) { h.inPlaceOf("etcd-v3.6/"+results.FileLatency, linkTo("/dev/zero")) }, false},
		{"size", "a manifest of a terabyte", func(h *hostileRun) { h.inPlaceOf(results.FileManifest, hole(1<<40)) }, true},
		{"size", "a table of a terabyte", func(h *hostileRun) { h.inPlaceOf("etcd-v3.6/"+results.FileIntervals, hole(1<<40)) }, true},
		{"size", "a histogram of a terabyte", func(h *hostileRun) { h.inPlaceOf("etcd-v3.6/"+results.FileLatency, hole(1<<40)) }, true},
		{"size", "events of a terabyte", func(h *hostileRun) { h.inPlaceOf("etcd-v3.6/"+results.FileEvents, hole(1<<40)) }, true},
		{"size", "samples of a terabyte", func(h *hostileRun) { h.inPlaceOf("etcd-v3.6/"+results.ServerFile(1), hole(1<<40)) }, true},
	}
}

// Every verb that acts on an untrusted run folder shows, refuses or cuts it. No verb panics, hangs,
// uses memory without bounds, reads or writes outside the folder, or forwards control sequences to
// a terminal. The exit codes are those in the table.
func TestHostileFolders(t *testing.T) {
	slowtest.Skip(t)
	if !wholeHostile() && !apart(t) {
		return
	}
	golden, err := filepath.Abs(hostileTable)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("HOME", t.TempDir())
	dialed := newCounted(t)
	var table strings.Builder
	table.WriteString("| kind | run folder |")
	for _, v := range hostileVerbs() {
		table.WriteString(" " + v.name + " |")
	}
	table.WriteString("\n" + strings.Repeat("|---", 2+len(hostileVerbs())) + "|\n")
	seen := map[string]bool{}
	for _, folder := range hostileFolders() {
		if seen[folder.kind] && !wholeHostile() {
			continue
		}
		seen[folder.kind] = true
		t.Run(folder.kind+"/"+folder.name, func(t *testing.T) {
			fmt.Fprintf(&table, "| %s | %s |", folder.kind, folder.name)
			for _, v := range hostileVerbs() {
				if folder.endless && v.name == "upload" {
					table.WriteString(" |")
					continue
				}
				fmt.Fprintf(&table, " %d |", tryHostile(t, v, folder, dialed))
			}
			table.WriteString("\n")
		})
	}
	if wholeHostile() {
		databasetest.Golden(t, golden, []byte(table.String()))
		return
	}
	want := readText(t, golden)
	for line := range strings.Lines(table.String()) {
		if !strings.Contains(want, line) {
			t.Errorf("%s has no line %q: make hostile", hostileTable, line)
		}
	}
}

// hostileTable lists the cases with their expected exit codes.
const hostileTable = "testdata/hostile-folders.md"

// tryHostile runs one verb on one run folder, and returns its exit code.
func tryHostile(t *testing.T, v hostileVerb, folder hostileFolder, dialed *counted) int {
	t.Helper()
	h := newHostileRun(t, dialed)
	folder.damage(h)
	outside, asked := treeOf(t, h.outside), dialed.count()
	to := filepath.Join(t.TempDir(), "out")
	code, out, errs := untrusted(t, v.args(h, to)...)
	what := fmt.Sprintf("%s of %s", v.name, folder.name)
	for name, text := range map[string]string{"output": out, "error output": errs} {
		if plaintext.Visible(text) != text {
			t.Errorf("%s: the %s has control characters: %q", what, name, text)
		}
		if strings.Contains(text, hostileSecret) {
			t.Errorf("%s: the %s shows a file outside the folder:\n%s", what, name, text)
		}
	}
	if treeOf(t, h.outside) != outside {
		t.Errorf("%s: something was written outside the folder", what)
	}
	for _, dir := range []string{h.store, filepath.Dir(to)} {
		if name := holds(t, dir, hostileSecret); name != "" {
			t.Errorf("%s: a file outside the folder is in %s", what, name)
		}
	}
	if code != exitDone && v.name != "cleanup" && v.name != "collect" && dialed.count() > asked {
		t.Errorf("%s: it dialed what the folder names", what)
	}
	return code
}

// holds returns the first file below dir with that text, or "".
func holds(t *testing.T, dir, text string) (found string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || found != "" {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), text) {
			found = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// untrusted runs a command line on untrusted input, like [program]. It fails the test if the
// command panics, does not return, or uses much more memory than usual.
func untrusted(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	const most = 4 << 30 // reports on small runs take a tenth
	type result struct {
		code      int
		out, errs string
		panicked  any
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			r.panicked = recover()
			done <- r
		}()
		r.code, r.out, r.errs = program(t, args...)
	}()
	var r result
	select {
	case r = <-done:
	case <-time.After(patience):
		t.Fatalf("%q does not return", args)
	}
	if r.panicked != nil {
		t.Errorf("%q panics: %v", args, r.panicked)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > most {
		t.Errorf("%q allocated %d MiB", args, took>>20)
	}
	return r.code, r.out, r.errs
}

// Untrusted experiment files are rendered or refused: without a panic, in bounded time, with only
// the objects for the experiment, and without control sequences for a terminal.
func TestHostileFiles(t *testing.T) {
	slowtest.Skip(t)
	if !wholeHostile() && !apart(t) {
		return
	}
	configs, err := filepath.Abs("../../test-configs")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(configs, "*.yaml"))
	if err != nil || len(files) < 20 {
		t.Fatalf("files of test-configs: %d, %v", len(files), err)
	}
	t.Chdir(t.TempDir())
	n := 100
	if wholeHostile() {
		n = 3000
	}
	rendered := 0
	for i := range n {
		random := rand.New(rand.NewPCG(7, uint64(i)))
		file := files[i%len(files)]
		text := mutatedFile(readText(t, file), random)
		if err := os.WriteFile("hostile.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		verb := []string{"kube", "render", "--config", "hostile.yaml", "--image", "i:1"}
		if i%2 == 1 {
			verb = []string{"config", "check", "hostile.yaml"}
		}
		code, out, errs := untrusted(t, verb...)
		if plaintext.Visible(out+errs) != out+errs {
			t.Errorf("change %d of %s: control characters in %q", i, filepath.Base(file), out+errs)
		}
		switch code {
		case exitDone:
			rendered++
			if i%2 == 0 {
				wantObjects(t, out)
			}
		case exitFailed, exitUsage:
		default:
			t.Errorf("change %d of %s: exit code %d\n%s", i, filepath.Base(file), code, errs)
		}
		if t.Failed() {
			t.Fatalf("the file:\n%q", text)
		}
	}
	t.Logf("%d changed files were accepted, %d refused", rendered, n-rendered)
}

// mutatedFile changes an experiment file in one to three ways.
func mutatedFile(text string, random *rand.Rand) string {
	lines := strings.SplitAfter(text, "\n")
	evil := []string{"\x1b[2J", "\u202e", "\n---\nkind: Pod\n", "../../../etc/passwd", "-1", "99999999999999999999", "&a [*a]", "{{.}}", "$(reboot)", "'", "\"x\\ny\"", "!!binary aGk=", "\x00", "~", "[[[[[[", "1e999", "10000000000h"}
	for range 1 + random.IntN(3) {
		at := random.IntN(len(lines))
		switch random.IntN(6) {
		case 0: // another value
			key, _, found := strings.Cut(lines[at], ":")
			if found {
				lines[at] = key + ": " + evil[random.IntN(len(evil))] + "\n"
			}
		case 1: // another text in the midst
			line := lines[at]
			cut := random.IntN(len(line) + 1)
			lines[at] = line[:cut] + evil[random.IntN(len(evil))] + line[cut:]
		case 2:
			lines = slices.Insert(lines, at, lines[random.IntN(len(lines))])
		case 3:
			lines = append(slices.Delete(lines, at, at+1), "\n")
		case 4: // another depth
			lines[at] = strings.Repeat(" ", random.IntN(8)) + strings.TrimLeft(lines[at], " ")
		default: // a bit
			b := []byte(lines[at])
			if len(b) > 0 {
				b[random.IntN(len(b))] ^= 1 << random.IntN(8)
			}
			lines[at] = string(b)
		}
	}
	return strings.Join(lines, "")
}

// wantObjects fails for manifests with objects useless in an experiment.
func wantObjects(t *testing.T, text string) {
	t.Helper()
	d, err := yaml.NewLoader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for {
		var object struct {
			Kind     string
			Metadata struct{ Namespace string }
		}
		if err := d.Load(&object); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("the manifest cannot be read: %v", err)
			}
			return
		}
		if !slices.Contains([]string{"Namespace", "Service", "StatefulSet", "ConfigMap", "Secret", "Job", "Pod", "PersistentVolumeClaim", "NetworkPolicy", "PodDisruptionBudget"}, object.Kind) ||
			object.Metadata.Namespace == "kube-system" {
			t.Errorf("an object %+v", object)
		}
	}
}

// Every verb that reads an untrusted store fetches it within bounds, or refuses it.
func TestHostileStores(t *testing.T) {
	slowtest.Skip(t)
	if !wholeHostile() && !apart(t) {
		return
	}
	t.Chdir(t.TempDir())
	for name, fill := range map[string]func(*hostileRun){
		"links and pipes": func(h *hostileRun) {
			h.inPlaceOf("etcd-v3.6/link", linkTo(filepath.Join(h.outside, results.FileIntervals)))
			h.inPlaceOf("etcd-v3.6/pipe", fifo)
			h.inPlaceOf("etcd-v3.6/zero", linkTo("/dev/zero"))
		},
		"a hole of a terabyte": func(h *hostileRun) { h.inPlaceOf("etcd-v3.6/hole", hole(1<<40)) },
		"many files": func(h *hostileRun) {
			for i := range 200 {
				h.inPlaceOf(fmt.Sprintf("etcd-v3.6/many-%d", i), func(path string) error { return os.WriteFile(path, nil, 0o600) })
			}
		},
		"names with orders to a terminal": func(h *hostileRun) {
			h.inPlaceOf("etcd-v3.6/\x1b[2J", func(path string) error { return os.WriteFile(path, nil, 0o600) })
		},
		"runs below with such names": func(h *hostileRun) {
			text := readText(h.t, h.path(results.FileManifest))
			for i := range 30 {
				dir := h.path(fmt.Sprintf("\x1b[2J%d", i))
				if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, results.FileManifest), []byte(text), 0o600)); err != nil {
					h.t.Fatal(err)
				}
			}
			if err := os.Remove(h.path(results.FileManifest)); err != nil {
				h.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := map[string]int{"links and pipes": exitDone, "names with orders to a terminal": exitFailed, "runs below with such names": exitUsage,
				"a hole of a terabyte": exitFailed, "many files": exitFailed}[name]
			h := newHostileRun(t, newCounted(t))
			fill(h)
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			for _, args := range [][]string{
				{"analyze", "--out", "report", "--max-objects", "100", "--max-bytes", "10000000", "file://" + h.dir},
				{"compare", "--max-objects", "100", "--max-bytes", "10000000", "file://" + h.dir, "--to", "file://" + h.dir},
			} {
				code, out, errs := untrusted(t, args...)
				if args[0] == "analyze" && code != want || args[0] == "compare" && want != exitDone && code != want {
					t.Errorf("%s: exit code %d, want %d\n%s", args[0], code, want, errs)
				}
				if text := out + errs; plaintext.Visible(text) != text || strings.Contains(text, hostileSecret) || len(text) > 100_000 {
					t.Errorf("%s: %d characters of output, with control characters or others' texts: %.2000q", args[0], len(text), text)
				}
				wantEmpty(t, temp)
			}
			if err := os.RemoveAll("report"); err != nil {
				t.Fatal(err)
			}
		})
	}
}
