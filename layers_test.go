package dbtester_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/coreos/dbtester"

// layers lists for each package which of ours it may import. A package that is not
// listed fails the test. "NAME" stands for the folder of one database.
var layers = map[string][]string{
	".":                             {"analyze", "control", "dbtesterpb", "pkg/config", "pkg/config/classic", "pkg/database", "pkg/database/all", "pkg/remotestorage", "pkg/results", "pkg/files/wholefile", "pkg/workload"},
	"agent":                         {"pkg/process/cgroup", "pkg/process/environment", "pkg/process/resources", "dbtesterpb", "pkg/files/address", "pkg/database", "pkg/install", "pkg/process/logfile", "pkg/member", "pkg/process", "pkg/results", "pkg/files/runlog", "pkg/member/scrape", "pkg/machine/sysmetrics", "pkg/member/toolbox", "pkg/files/wholefile"},
	"agent/generator":               {"dbtesterpb", "pkg/database", "pkg/load", "pkg/load/connect", "pkg/load/loadwire", "pkg/results", "pkg/load/schedule", "pkg/trust/secret", "pkg/load/selfcheck", "pkg/machine/sysmetrics", "pkg/workload"},
	"control":                       {"pkg/mark", "pkg/process/garbage", "pkg/trust/secret", "pkg/process/environment", "pkg/process/resources", "control/fleet", "control/before/forecast", "control/generators", "control/judge", "control/fleet/lognotes", "control/before/lookup", "control/fleet/salvage", "control/search", "control/shared", "control/upkeep", "dbtesterpb", "pkg/results/clocks", "pkg/config", "pkg/database", "pkg/install", "pkg/load", "pkg/load/backoff", "pkg/load/connect", "pkg/results", "pkg/results/sidecar", "pkg/load/selfcheck", "pkg/machine/sysmetrics", "pkg/member/toolbox", "pkg/files/wholefile", "pkg/workload"},
	"analyze":                       {"pkg/mark", "pkg/files/pattern", "pkg/files/plaintext", "pkg/files/regularfile", "analyze/chart", "analyze/answers/choose", "analyze/answers/curve", "analyze/figure", "analyze/answers/headline", "analyze/publish/page", "analyze/run", "analyze/table", "analyze/run/trials", "pkg/results", "pkg/workload"},
	"analyze/publish/page":          {"pkg/files/plaintext", "analyze/figure", "analyze/answers/headline", "analyze/table"},
	"pkg/stats/stationary":          {"pkg/stats/rank"},
	"analyze/run/packed":            {"pkg/metric", "pkg/results"},
	"analyze/run":                   {"pkg/mark", "analyze/run/packed", "pkg/stats/stationary", "pkg/results/logrule", "pkg/results/clocks", "pkg/results/histogram", "pkg/metric", "pkg/files/pattern", "pkg/files/regularfile", "pkg/results", "pkg/results/sidecar", "pkg/workload"},
	"analyze/publish/index":         {"pkg/files/plaintext", "pkg/files/regularfile", "pkg/files/wholefile"},
	"analyze/publish/submission":    {"analyze/run", "pkg/files/linefile", "pkg/process/logfile", "pkg/results/logrule", "pkg/mark", "pkg/files/pattern", "pkg/files/regularfile", "pkg/results", "pkg/files/wholefile"},
	"analyze/setting":               {"analyze/run", "pkg/process/resources", "pkg/results", "pkg/workload"},
	"analyze/run/trials":            {"analyze/run", "pkg/results"},
	"analyze/answers/curve":         {"analyze/run", "analyze/table", "analyze/run/trials", "pkg/files/plaintext", "pkg/workload"},
	"analyze/answers/choose":        {"analyze/run", "analyze/table", "analyze/run/trials", "pkg/mark", "pkg/metric", "pkg/files/plaintext", "pkg/results", "pkg/workload"},
	"analyze/answers":               {"analyze/answers/compare", "analyze/run", "analyze/setting", "analyze/table", "analyze/run/trials", "pkg/stats/abtest", "pkg/workload"},
	"analyze/answers/headline":      {"pkg/mark", "analyze/answers", "analyze/answers/choose", "analyze/answers/curve", "analyze/run", "analyze/setting", "analyze/table", "analyze/run/trials", "pkg/metric", "pkg/files/plaintext", "pkg/results", "pkg/workload"},
	"analyze/runtest":               {"pkg/results/histogram", "pkg/metric", "pkg/results", "pkg/workload"},
	"analyze/answers/compare":       {"analyze/cpuprofile", "analyze/figure", "analyze/run", "analyze/setting", "analyze/table", "pkg/stats/abtest", "pkg/mark", "pkg/files/plaintext", "pkg/files/regularfile", "pkg/results", "pkg/files/wholefile"},
	"analyze/cpuprofile":            {},
	"analyze/table":                 {"pkg/process/resources", "analyze/run", "analyze/setting", "analyze/run/trials", "pkg/results/histogram", "pkg/metric", "pkg/files/plaintext", "pkg/results", "pkg/workload"},
	"analyze/chart":                 {"analyze/answers/curve", "analyze/figure", "analyze/run", "analyze/run/trials", "pkg/results/histogram", "pkg/mark", "pkg/metric", "pkg/files/plaintext", "pkg/results", "pkg/workload"},
	"control/fleet":                 {"pkg/process/resources", "dbtesterpb", "pkg/files/address", "pkg/results/clocks", "pkg/results", "pkg/files/wholefile"},
	"control/fleet/fleettest":       {"dbtesterpb"},
	"control/generators":            {"control/fleet", "dbtesterpb", "pkg/results/clocks", "pkg/database", "pkg/load", "pkg/load/loadwire", "pkg/load/merge", "pkg/results", "pkg/workload"},
	"control/fleet/salvage":         {"control/fleet", "control/fleet/lognotes", "dbtesterpb", "pkg/files/regularfile", "pkg/results", "pkg/files/wholefile"},
	"control/search":                {"pkg/stats/capacity", "pkg/database", "pkg/results/histogram", "pkg/load", "pkg/metric", "pkg/results", "pkg/workload"},
	"control/shared":                {"pkg/config", "pkg/database", "pkg/load", "pkg/results"},
	"control/before/versus":         {"pkg/config", "pkg/database", "pkg/install", "pkg/yamlfile"},
	"control/upkeep":                {"pkg/config", "pkg/database", "pkg/results/histogram", "pkg/results"},
	"control/before/lookup":         {"pkg/config"},
	"control/fleet/lognotes":        {"pkg/results/clocks", "pkg/results/logrule", "pkg/results"},
	"control/before/forecast":       {"pkg/config", "pkg/database", "pkg/machine/sysmetrics", "pkg/workload"},
	"control/judge":                 {"pkg/mark", "pkg/metric", "pkg/results", "pkg/workload"},
	"pkg/install":                   {"pkg/process"},
	"pkg/machine/sysmetrics":        {"pkg/process/cgroup", "pkg/metric", "pkg/process/mounts", "pkg/results"},
	"pkg/process/cgroup":            {"pkg/process/mounts", "pkg/process/resources"},
	"pkg/mark":                      {},
	"pkg/process/mounts":            {},
	"pkg/process/resources":         {},
	"pkg/member/scrape":             {"pkg/database", "pkg/metric", "pkg/results"},
	"pkg/database":                  {"pkg/results/logrule", "pkg/yamlfile", "pkg/install", "pkg/metric", "pkg/process", "pkg/results", "pkg/workload"},
	"pkg/member/toolbox":            {"pkg/database", "pkg/install"},
	"pkg/member":                    {"pkg/database", "pkg/process/fileinspect", "pkg/process"},
	"pkg/kube":                      {"pkg/config", "pkg/files/pattern"},
	"pkg/load":                      {"pkg/database", "pkg/wire/fiber", "pkg/process/garbage", "pkg/load/requests", "pkg/results/histogram", "pkg/load/backoff", "pkg/load/clock", "pkg/load/message", "pkg/load/stops", "pkg/load/versions", "pkg/load/wakeup", "pkg/results", "pkg/load/schedule", "pkg/workload"},
	"pkg/load/backoff":              {},
	"pkg/load/connect":              {"pkg/database", "pkg/load/schedule", "pkg/workload"},
	"pkg/load/clock":                {},
	"pkg/load/message":              {},
	"pkg/load/stops":                {"pkg/load/clock", "pkg/results"},
	"pkg/load/versions":             {},
	"pkg/load/wakeup":               {},
	"pkg/process/environment":       {},
	"pkg/machine/diskcheck":         {"pkg/results/histogram", "pkg/results"},
	"pkg/machine/roundtrip":         {"pkg/files/address", "pkg/results/histogram"},
	"pkg/load/selfcheck":            {"pkg/database", "pkg/results/histogram", "pkg/load", "pkg/process", "pkg/files/regularfile", "pkg/results", "pkg/files/wholefile", "pkg/workload"},
	"pkg/databasetest":              {"pkg/results/logrule", "pkg/database", "pkg/install", "pkg/load", "pkg/member", "pkg/metric", "pkg/wire/poller", "pkg/process", "pkg/results", "pkg/member/scrape", "pkg/workload"},
	"pkg/database/NAME":             {"pkg/results/logrule", "pkg/database", "pkg/install", "pkg/process", "pkg/results", "pkg/workload"},
	"pkg/database/etcd":             {"pkg/results/logrule", "pkg/database", "pkg/database/etcd/answer", "pkg/database/etcd/library", "pkg/database/etcd/unary", "pkg/install", "pkg/metric", "pkg/process", "pkg/results", "pkg/workload"},
	"pkg/database/etcd/answer":      {"pkg/database"},
	"pkg/database/etcd/library":     {"pkg/database", "pkg/database/etcd/answer", "pkg/workload"},
	"pkg/database/etcd/unary":       {"pkg/wire/buffer", "pkg/wire/fiber", "pkg/wire/poller"},
	"pkg/wire/poller":               {"pkg/wire/socket"},
	"pkg/wire/buffer":               {},
	"pkg/wire/fiber":                {"pkg/wire/buffer"},
	"pkg/process/garbage":           {},
	"pkg/files/pattern":             {},
	"pkg/wire/exchange":             {"pkg/wire/buffer", "pkg/wire/socket"},
	"pkg/wire/socket":               {},
	"pkg/database/consul":           {"pkg/results/logrule", "pkg/database", "pkg/wire/exchange", "pkg/install", "pkg/metric", "pkg/process", "pkg/results", "pkg/workload"},
	"pkg/database/zookeeper":        {"pkg/results/logrule", "pkg/database", "pkg/wire/exchange", "pkg/install", "pkg/metric", "pkg/process", "pkg/results", "pkg/workload"},
	"pkg/database/zetcd":            {"pkg/results/logrule", "pkg/database", "pkg/database/etcd", "pkg/database/zookeeper", "pkg/install", "pkg/process", "pkg/results", "pkg/workload"},
	"pkg/database/cetcd":            {"pkg/results/logrule", "pkg/database", "pkg/database/consul", "pkg/database/etcd", "pkg/install", "pkg/process", "pkg/results", "pkg/workload"},
	"pkg/config":                    {"pkg/process/resources", "pkg/files/regularfile", "pkg/files/address", "pkg/config/classic", "pkg/metric", "pkg/workload", "pkg/yamlfile"},
	"pkg/config/classic":            {"pkg/yamlfile"},
	"analyze/publish/chromium":      {},
	"pkg/results/clocks":            {"pkg/files/linefile"},
	"pkg/process/logfile":           {},
	"pkg/results/logrule":           {"pkg/process/logfile"},
	"pkg/results":                   {"pkg/mark", "pkg/process/environment", "pkg/process/resources", "pkg/results/logrule", "pkg/results/clocks", "pkg/results/histogram", "pkg/files/linefile", "pkg/metric", "pkg/files/regularfile", "pkg/files/wholefile", "pkg/workload"},
	"pkg/results/sidecar":           {"pkg/files/linefile", "pkg/files/regularfile", "pkg/results", "pkg/files/wholefile"},
	"pkg/results/histogram":         {"pkg/files/linefile"},
	"pkg/files/linefile":            {"pkg/files/regularfile"},
	"pkg/metric":                    {},
	"pkg/files/wholefile":           {},
	"pkg/trust/usertoken":           {"pkg/files/regularfile", "pkg/files/wholefile"},
	"pkg/trust/agentlink":           {"pkg/trust/certs", "pkg/trust/usertoken"},
	"pkg/trust/certs":               {"pkg/files/address", "pkg/files/regularfile", "pkg/files/wholefile"},
	"pkg/remotestorage":             {},
	"pkg/files/runlog":              {},
	"pkg/remotestorage/storagetest": {},
	"pkg/stats/abtest":              {"pkg/stats/rank"},
	"pkg/stats/capacity":            {},
	"pkg/stats/rank":                {},
	"pkg/process":                   {},
	"pkg/load/requests":             {"pkg/database", "pkg/workload"},
	"pkg/load/merge":                {"pkg/results/histogram", "pkg/load", "pkg/results", "pkg/workload"},
	"pkg/load/loadwire":             {"dbtesterpb", "pkg/results/histogram", "pkg/load", "pkg/results", "pkg/workload"},
	"pkg/load/schedule":             {},
	"pkg/trust/secret":              {"pkg/files/regularfile"},
	"pkg/workload":                  {},
	"pkg/process/fileinspect":       {},
	"pkg/files/address":             {},
	"pkg/manpage":                   {},
	"pkg/files/plaintext":           {},
	"pkg/files/regularfile":         {},
	"pkg/yamlfile":                  {"pkg/files/address"},
	"pkg/yamlfile/schematest":       {},
	"dbtesterpb":                    {},
	"analyze/figure":                {"pkg/files/plaintext"},
}

// TestLayers parses every file's imports: arrows point one way. Only the program
// knows all packages, and only the list of databases knows all drivers.
func TestLayers(t *testing.T) {
	seen := 0
	for dir, files := range sources(t) {
		allowed, listed := layers[dir]
		if !listed && path.Dir(dir) == "pkg/database" {
			allowed, listed = layers["pkg/database/NAME"], true
		}
		switch {
		case dir == "cmd/dbtester", dir == "pkg/database/all":
			continue
		case !listed:
			t.Errorf("%s is not in the list of layers", dir)
		}
		for _, file := range files {
			for _, imported := range importsOf(t, file) {
				seen++
				if !slices.Contains(allowed, imported) {
					t.Errorf("%s imports %s, which %s may not", file, imported, dir)
				}
			}
		}
	}
	for dir := range layers {
		if info, err := os.Stat(dir); dir != "pkg/database/NAME" && (err != nil || !info.IsDir()) {
			t.Errorf("%s is in the list of layers, but is not a folder", dir)
		}
	}
	if seen < 30 {
		t.Errorf("only %d imports were seen: the test looks in the wrong place", seen)
	}
}

// sources are the tree's Go files by folder, without tests.
func sources(t *testing.T) map[string][]string {
	t.Helper()
	files := map[string][]string{}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && p != "." && (strings.HasPrefix(name, ".") || slices.Contains([]string{"bin", "results", "testdata", "tools"}, name)) {
			return fs.SkipDir
		}
		if strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go") {
			files[filepath.ToSlash(filepath.Dir(p))] = append(files[filepath.ToSlash(filepath.Dir(p))], p)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("walk the tree: %v", err)
	}
	return files
}

// importsOf are a file's imports of our own packages, by folder.
func importsOf(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatalf("parse the Go file: %v", err)
	}
	var ours []string
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatalf("unquote the import path: %v", err)
		}
		if p == module {
			ours = append(ours, ".")
		}
		if rest, ok := strings.CutPrefix(p, module+"/"); ok {
			ours = append(ours, rest)
		}
	}
	return ours
}

// codemapPlace is the first cell of a row of ARCHITECTURE.md's codemap.
var codemapPlace = regexp.MustCompile("(?m)^\\| `([a-z/.0-9]+)` \\|")

// TestCodemap compares ARCHITECTURE.md with the tree: every place in it exists, and
// every package has one, except drivers and helpers of tests.
func TestCodemap(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatalf("read the codemap: %v", err)
	}
	places := map[string]bool{".": true}
	for _, m := range codemapPlace.FindAllSubmatch(text, -1) {
		place := string(m[1])
		places[place] = true
		if _, err := os.Stat(place); err != nil {
			t.Errorf("the codemap names %s, which does not exist", place)
		}
	}
	for dir := range sources(t) {
		if !places[dir] && !strings.HasPrefix(dir, "pkg/database/") && !strings.HasSuffix(dir, "test") {
			t.Errorf("the codemap does not name %s", dir)
		}
	}
}
