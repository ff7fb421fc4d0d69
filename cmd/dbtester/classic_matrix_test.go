package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database/consul"
	"github.com/coreos/dbtester/pkg/database/zookeeper"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/remotestorage/storagetest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// classicCase is one classic file, made small, with one kind of store.
type classicCase struct {
	file, store string
	hosts       []string
	ids         []string // databases to run; all if empty
	text        string
	columns     []string // columns of the plots that are drawn
}

// The stores with which classic files are run.
const (
	storeGCS    = "gs://"
	storeFolder = "file://"
	storeNone   = "no upload"
)

// releases are the releases that the classic entries run instead of unavailable ones.
var releases = map[string]string{"zookeeper": "3.9.5", "consul": "1.16.0"}

// classicSmall are the changes that make any classic file small: numbers, memory and the client
// folder. Clients of Consul and ZooKeeper cannot share connections.
var classicSmall = [][2]string{
	{`request_number: \d+`, `request_number: 300`},
	{`([^_])connection_number: [1-9]\d+`, `${1}connection_number: 10`},
	{`([^_])client_number: [1-9]\d+`, `${1}client_number: 10`},
	{`connection_client_numbers: \[1,.*\]`, `connection_client_numbers: [1, 2, 4]`},
	{`rate_limit_requests_per_second: 1000`, `rate_limit_requests_per_second: 50`},
	{`(java_xm[sx]): .*`, `${1}: 128m`},
	{`path_prefix: /home/gyuho`, `path_prefix: home`},
	{`(?m)^ *google_cloud_storage_key_path: .*\n`, ``}, // the credentials come from the environment
}

// newClassicCase reads a classic file for three hosts, or for one if there is only one.
func newClassicCase(t *testing.T, path, store string, hosts []string) *classicCase {
	t.Helper()
	c := &classicCase{file: strings.TrimSuffix(filepath.Base(path), ".yaml"), store: store, hosts: hosts, text: readText(t, path)}
	for _, change := range classicSmall {
		c.replace(change[0], change[1])
	}
	for i := range 3 {
		addr := fmt.Sprintf(`10\.138\.0\.%d`, i+2)
		if i < len(hosts) {
			c.replace(addr, hosts[i])
			continue
		}
		c.replace(`(?m)^ *- `+addr+"\n", "")
		c.replace(fmt.Sprintf(`(?m)^ *- %d-server-system-metrics-interpolated\.csv`+"\n", i+1), "")
	}
	for _, m := range regexp.MustCompile(`(?m)^- column: (\S+)`).FindAllStringSubmatch(c.text, -1) {
		c.columns = append(c.columns, m[1])
	}
	if len(c.columns) < 5 || !strings.Contains(c.text, hosts[0]) {
		t.Fatalf("the file %s has the plots %q and not the hosts %q: is it a classic file?", path, c.columns, hosts)
	}
	return c
}

func (c *classicCase) replace(pattern, by string) {
	c.text = regexp.MustCompile(pattern).ReplaceAllString(c.text, by)
}

// only leaves the plots and images for some columns: drawing takes long with the race detector.
func (c *classicCase) only(columns ...string) {
	block := regexp.MustCompile(`(?m)^(- column: (\S+)|  - title: \S+/(\S+))\n(?:^ +\S.*\n)+\n?`)
	c.text = block.ReplaceAllStringFunc(c.text+"\n", func(b string) string {
		m := block.FindStringSubmatch(b)
		if slices.Contains(columns, m[2]+m[3]) {
			return b
		}
		return ""
	})
	c.columns = columns
}

// named returns the value in a line of the file.
func (c *classicCase) named(t *testing.T, line string) string {
	t.Helper()
	m := regexp.MustCompile(line).FindStringSubmatch(c.text)
	if m == nil {
		t.Fatalf("the file %s has no line that matches %q", c.file, line)
	}
	return m[1]
}

// run runs the file from control to the README with its remote images, and returns a row for the
// results list.
func (c *classicCase) run(t *testing.T) string {
	began := time.Now()
	p, folder := newPlace(t), c.named(t, `google_cloud_storage_sub_directory: (\S+)`)
	// A published file has its images in another folder than its records.
	pictures := c.named(t, `path: https://storage\.googleapis\.com/[^/\s]+/(\S+)/[^/\s]+\n *type: remote`)
	env, bucket, has := c.open(t, p)
	if err := os.WriteFile(p.path("classic.yaml"), []byte(c.text), 0o644); err != nil {
		t.Fatalf("write the file: %v", err)
	}
	start := func(args ...string) *command {
		return p.launch("env", slices.Concat(env, []string{"dbtester"}, args)...)
	}
	args := []string{"control", "--local", "--results", p.path("results"), "--config", "classic.yaml"}
	for _, name := range slices.Sorted(maps.Keys(releases)) {
		if len(c.ids) == 0 && strings.Contains(c.text, "  "+name+"__") {
			args = append(args, "--use-version", name+"="+releases[name])
		}
	}
	for _, id := range c.ids {
		args = append(args, "--database-id", id)
	}
	switch c.store {
	case storeNone:
		args = append(args, "--no-upload")
	case storeFolder:
		args = append(args, "--create-bucket")
	}
	run := start(args...)
	run.exits(exitDone, patience)
	if c.store != storeNone {
		p.remove("2018Q1")
		p.remove(strings.Split(folder, "/")[0])
		p.remove("home")
	}
	analyze := []string{"analyze", "--all", "--config", "classic.yaml"}
	if c.store != storeNone {
		analyze = append(analyze, "--create-bucket", "--upload", bucket+"/"+pictures)
	}
	report, code := start(analyze...), exitDone
	if len(c.ids) > 0 {
		code = exitFailed // the databases that did not run are missed
	}
	report.exits(code, patience)
	dbs := manifest(t, p.runs()[0]).Databases
	aggregated := readText(t, p.path(c.named(t, `all_aggregated_output_path_csv: (\S+)`)))
	var ran []string
	for _, db := range dbs {
		if db.Totals == nil || db.Totals.OK == 0 || db.Totals.Failed+db.Totals.Unknown > 0 {
			t.Errorf("%s: totals %+v, want requests that are all ok", db.Tag, db.Totals)
			continue
		}
		ran = append(ran, fmt.Sprintf("%s: %s, %d ok", db.Tag, db.Members[0].Version, db.Totals.OK))
		wantText(t, "table", aggregated, regexp.QuoteMeta(db.Tag)+`( \(built-in\))? \(ran `+regexp.QuoteMeta(db.Members[0].Version)+`\)`)
		if c.store != storeNone {
			for _, name := range []string{"client-control.log", "client-latency-distribution-summary.csv", "1-server-system-metrics.csv", "1-agent.log"} {
				has(folder + "/" + db.Tag + "-" + name)
			}
		}
	}
	wantText(t, "table", report.out.String(), ` TOTAL-REQUEST-NUMBER \| +[1-9]`, ` VERSION \| +3\.7\.3 `)
	images := c.images(t, p, pictures)
	if c.store != storeNone {
		wantText(t, "progress", report.err.String(), `downloaded the inputs of `)
		for _, name := range images {
			has(pictures + "/" + name)
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %d of %d | %.0f s |\n", c.file, c.store, strings.Join(ran, "; "), len(images), len(c.columns), time.Since(began).Seconds())
}

// open makes the store, names its bucket in the file, and returns the environment for commands, the
// bucket URL, and a check that the bucket has a file.
func (c *classicCase) open(t *testing.T, p place) (env []string, url string, has func(name string)) {
	const bucket = "dbtester-results"
	switch c.store {
	case storeGCS:
		e := storagetest.GCS(t)
		c.replace(bucket, e.Bucket)
		env = []string{"STORAGE_EMULATOR_HOST=" + e.Env["STORAGE_EMULATOR_HOST"]}
		reply := func() string { return e.Get(t, "/storage/v1/b/"+e.Bucket+"/o?maxResults=5000") }
		return env, strings.TrimSuffix(e.URL(""), "/"), func(name string) {
			if !strings.Contains(reply(), `"`+name+`"`) {
				t.Errorf("%s: the bucket has no %s", c.file, name)
			}
		}
	case storeFolder:
		c.replace(`(bucket_name:) `+bucket, "${1} file://"+p.path("bucket"))
		return nil, "file://" + p.path("bucket"), func(name string) { wantFiles(t, p.path("bucket"), name) }
	}
	return nil, "", nil
}

// images returns the names of remote images in the README, below their folder. Every image that the
// file names must exist.
func (c *classicCase) images(t *testing.T, p place, folder string) (names []string) {
	t.Helper()
	readme := readText(t, p.path(c.named(t, `analyze_readme:\n  output_path: (\S+)`)))
	for _, m := range regexp.MustCompile(`<img src="https://storage\.googleapis\.com/[^/"]+/([^"]+)"`).FindAllStringSubmatch(readme, -1) {
		name, below := strings.CutPrefix(m[1], folder+"/")
		if !below {
			t.Errorf("the image %s is not below %s", m[1], folder)
		}
		names = append(names, name)
	}
	if want := strings.Count(c.text, "type: remote"); len(names) != want || want == 0 {
		t.Errorf("%s: the README has %d remote images, want %d", c.file, len(names), want)
	}
	return names
}

// classicConfigs are the classic files, which are not ours to publish.
func classicConfigs(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(classicDir(), "configs", "*.yaml"))
	if err != nil || len(files) < 5 {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%d classic files in %s, %v: name their folder in DBTESTER_CLASSIC_DIR", len(files), classicDir(), err)
		}
		t.Skip("the classic files are not here; set DBTESTER_CLASSIC_DIR")
	}
	return files
}

// A published classic file runs from control to a README with remote images, through a bucket: one
// database out of three, with one member. The report is made without the others, and analyze fails
// for them.
func TestClassicPublished(t *testing.T) {
	slowtest.Skip(t)
	files := classicConfigs(t)
	t.Parallel()
	i := slices.IndexFunc(files, func(path string) bool { return strings.HasSuffix(path, "write-1M-keys-best-throughput.yaml") })
	if i < 0 {
		t.Fatalf("write-1M-keys-best-throughput.yaml is not among %q", files)
	}
	c := newClassicCase(t, files[i], storeGCS, freeHosts(t)[:1])
	c.only("AVG-THROUGHPUT")
	c.ids = []string{"etcd__v3_3"}
	t.Log(c.run(t))
}

// Every classic file does so with every store and three members each. This takes minutes,
// and writes the results to the file that the variable names.
func TestClassicMatrix(t *testing.T) {
	to := os.Getenv("DBTESTER_CLASSIC_MATRIX")
	if to == "" {
		t.Skip("set DBTESTER_CLASSIC_MATRIX to the file to write: make classic")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Classic files from end to end\n\nEvery classic file with loopback hosts and small numbers, by `make classic`: `control --local` of three members of each database, an upload to an emulator of Google Cloud Storage, to a folder, or none; all local files removed; `analyze --config --upload`, which fetches its inputs from there; the README and its remote images, each of which must be in the store. Agents are inside control. `--use-version` gives zookeeper=%s and consul=%s; etcd is the built-in one.\n\n| file | store | what ran, requests | remote images, plots | time |\n|---|---|---|---|---|\n", releases["zookeeper"], releases["consul"])
	databasetest.Release(t, zookeeper.Database(), releases["zookeeper"])
	databasetest.Release(t, consul.Database(), releases["consul"])
	for _, path := range classicConfigs(t) {
		for _, store := range []string{storeGCS, storeFolder, storeNone} {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml")+"/"+strings.Trim(store, ":/"), func(t *testing.T) {
				b.WriteString(newClassicCase(t, path, store, freeHosts(t)).run(t))
			})
		}
	}
	if t.Failed() {
		return
	}
	if err := os.WriteFile(to, []byte(b.String()), 0o644); err != nil {
		t.Fatalf("write the results: %v", err)
	}
}
