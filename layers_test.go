package dbtester_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/coreos/dbtester"

// layers say which of our packages each package may import; what is not listed
// may import none of ours. "NAME" stands for the folder of one database.
var layers = map[string][]string{
	".":                         {"analyze", "control", "dbtesterpb", "pkg/config", "pkg/database", "pkg/database/all", "pkg/remotestorage", "pkg/results"},
	"agent":                     {"dbtesterpb", "pkg/database", "pkg/install", "pkg/member", "pkg/process", "pkg/results", "pkg/sysmetrics"},
	"analyze":                   {"analyze/figure", "pkg/config", "pkg/results"},
	"control":                   {"dbtesterpb", "pkg/config", "pkg/database", "pkg/load", "pkg/results", "pkg/sysmetrics"},
	"pkg/install":               {"pkg/process"},
	"pkg/sysmetrics":            {"pkg/results"},
	"pkg/database":              {"pkg/install", "pkg/process", "pkg/results"},
	"pkg/member":                {"pkg/database", "pkg/fileinspect", "pkg/process"},
	"pkg/load":                  {"pkg/database", "pkg/results"},
	"pkg/selfcheck":             {"pkg/database", "pkg/load", "pkg/process", "pkg/results"},
	"pkg/database/databasetest": {"pkg/database", "pkg/install", "pkg/member", "pkg/process"},
	"pkg/database/NAME":         {"pkg/database", "pkg/install", "pkg/process", "pkg/results"},
	"pkg/database/etcd":         {"pkg/database", "pkg/database/etcd/unary", "pkg/install", "pkg/process", "pkg/results"},
	"pkg/database/etcd/unary":   {},
	"pkg/database/exchange":     {},
	"pkg/database/consul":       {"pkg/database", "pkg/database/exchange", "pkg/install", "pkg/process", "pkg/results"},
	"pkg/database/zookeeper":    {"pkg/database", "pkg/database/exchange", "pkg/install", "pkg/process", "pkg/results"},
	"pkg/database/zetcd":        {"pkg/database", "pkg/database/etcd", "pkg/database/zookeeper", "pkg/install", "pkg/process", "pkg/results"},
	"pkg/database/cetcd":        {"pkg/database", "pkg/database/consul", "pkg/database/etcd", "pkg/install", "pkg/process", "pkg/results"},
	"pkg/config":                {},
	"pkg/results":               {},
	"pkg/process":               {},
	"pkg/fileinspect":           {},
	"pkg/remotestorage":         {},
	"pkg/certs":                 {},
	"dbtesterpb":                {},
	"analyze/figure":            {},
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
		t.Fatal(err)
	}
	return files
}

// importsOf are a file's imports of our own packages, by folder.
func importsOf(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
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
