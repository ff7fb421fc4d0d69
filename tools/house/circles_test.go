package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inOrder are packages whose files use one another in one direction, so that they can be read from
// the lowest to the highest.
var inOrder = []string{
	".",
	"agent", "agent/generator",
	"analyze/abilities/cause", "analyze/answers", "analyze/answers/compare", "analyze/answers/headline", "analyze/figure", "analyze/publish/live", "analyze/publish/page", "analyze/publish/submission", "analyze/table",
	"cmd/dbtester",
	"control/abilities/faults", "control/issue", "control/judge",
	"pkg/ability/faults", "pkg/config", "pkg/config/classic", "pkg/consistency", "pkg/coordination/service", "pkg/database/cetcd", "pkg/database/consul", "pkg/database/etcd", "pkg/databasetest", "pkg/fault", "pkg/files/linefile", "pkg/install", "pkg/load", "pkg/load/merge", "pkg/load/schedule", "pkg/mark", "pkg/metric", "pkg/remotestorage", "pkg/results", "pkg/wire/poller",
	"tools/audit", "tools/discovery", "tools/holders", "tools/house", "tools/observer", "tools/peers", "tools/watchers",
}

func TestFilesInOrder(t *testing.T) {
	tree, err := readTree("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range inOrder {
		var out strings.Builder
		if err := printCircles(&out, tree, dir); err != nil || out.Len() > 0 {
			t.Errorf("files of %s use one another, %v; move what the lower one uses down:\n%s", dir, err, &out)
		}
	}
}

// Only arrows on a circle are printed, with the names that cause them.
func TestCircles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go": "package p\n\ntype T struct{ x int }\n\nfunc (t *T) A() { t.B(); t.C() }\n",
		"b.go": "package p\n\nfunc (t *T) B() { D() }\n\nfunc (t *T) C() {}\n",
		"c.go": "package p\n\nfunc E(t *T) { t.A() }\n",
		"d.go": "package p\n\nfunc D() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := readTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := printCircles(&out, tree, "."); err != nil || out.String() != "a.go -> b.go: B, C\nb.go -> a.go: T\n" {
		t.Errorf("%v:\n%s", err, &out)
	}
	if err := printCircles(&out, tree, "missing"); err == nil {
		t.Error("a folder without a package has no error")
	}
}
