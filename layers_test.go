package dbtester_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/coreos/dbtester"

// floors are the rooms of the tree from the ground up: folders with one subject and the packages
// below them. The law: a package imports packages in its own room and on lower floors, and none of
// control, analyze and agent imports another. Packages at the root and below cmd and tools may
// import whatever they need.
var floors = [][]string{
	{"pkg/sleep"},
	{"dbtesterpb", "pkg/consistency", "pkg/files", "pkg/mark", "pkg/metric", "pkg/process", "pkg/remotestorage", "pkg/stats", "pkg/workload"},
	{"pkg/fault", "pkg/install", "pkg/results", "pkg/trust", "pkg/wire", "pkg/yamlfile", "analyze/figure"},
	{"pkg/database", "pkg/machine", "pkg/observation", "control/fleet", "control/judge"},
	{"pkg/ability"},
	{"pkg/config", "analyze/run"},
	{"pkg/kube", "pkg/load", "pkg/member", "analyze/abilities", "control/before"},
	{"pkg/coordination", "analyze/runtest", "analyze/setting"},
	{"pkg/databasetest", "analyze/table", "control/abilities", "control/issue", "control/shared"},
	{"analyze/answers", "agent"},
	{"analyze/chart", "analyze/publish"},
	{"analyze", "control"},
}

// drivers maps each database folder to the other drivers that it may import: a proxy knows the
// store behind it and the one whose protocol it speaks. Only pkg/database/all, the list of
// databases, imports all of them.
var drivers = map[string][]string{
	"etcd": nil, "zookeeper": nil, "consul": nil, "fake": nil,
	"zetcd": {"etcd", "zookeeper"},
	"cetcd": {"etcd", "consul"},
}

// TestLayers parses all imports: arrows point down.
func TestLayers(t *testing.T) {
	seen := 0
	for dir, files := range sources(t) {
		house, _, _ := strings.Cut(dir, "/")
		if house == "." || house == "cmd" || dir == "pkg/database/all" {
			continue
		}
		own, floor := roomOf(dir)
		if own == "" {
			t.Errorf("%s is in no room of the list of floors", dir)
		}
		for _, file := range files {
			for _, imported := range importsOf(t, file) {
				seen++
				room, below := roomOf(imported)
				other, _, _ := strings.Cut(imported, "/")
				switch {
				case room != own && below >= floor:
					t.Errorf("%s imports %s, which is on the same floor or above", file, imported)
				case other != house && slices.Contains([]string{"agent", "analyze", "control"}, other):
					t.Errorf("%s imports %s: only cmd and the library know both", file, imported)
				}
				checkDriver(t, file, dir, imported)
			}
		}
	}
	if seen < 300 {
		t.Errorf("only %d imports were seen: the test looks in the wrong place", seen)
	}
}

// checkDriver fails if a file imports a database folder that it must not know.
func checkDriver(t *testing.T, file, dir, imported string) {
	t.Helper()
	name := driverOf(imported)
	if own := driverOf(dir); name != "" && name != own && !slices.Contains(drivers[own], name) {
		t.Errorf("%s imports %s: a database is known in its own folder only", file, imported)
	}
}

// driverOf returns the database in whose folder a package lies, or "".
func driverOf(dir string) string {
	rest, below := strings.CutPrefix(dir, "pkg/database/")
	name, _, _ := strings.Cut(rest, "/")
	if _, known := drivers[name]; below && known {
		return name
	}
	return ""
}

// roomOf returns the room of a package and the floor of the room. The room is the longest name in
// the list with which the package folder begins.
func roomOf(dir string) (room string, floor int) {
	floor = len(floors)
	for i, rooms := range floors {
		for _, r := range rooms {
			if (dir == r || strings.HasPrefix(dir, r+"/")) && len(r) > len(room) {
				room, floor = r, i
			}
		}
	}
	return room, floor
}

// sources are the Go files of the tree by folder, without tests.
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

// importsOf are the imports from our own packages, by folder.
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
