package dbtester_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// contractImports are the packages that the contract may import: only data, so that driver authors
// need not know the rest.
var contractImports = []string{"pkg/install/recipe", "pkg/metric", "pkg/results/declared", "pkg/workload"}

// TestContractIsALeaf keeps the contract to data imports, which import nothing of ours.
func TestContractIsALeaf(t *testing.T) {
	tree := sources(t)
	for _, file := range tree["pkg/database"] {
		for _, imported := range importsOf(t, file) {
			if !slices.Contains(contractImports, imported) {
				t.Errorf("%s imports %s: the contract imports only %v", file, imported, contractImports)
			}
		}
	}
	for _, dir := range contractImports {
		for _, file := range tree[dir] {
			if ours := importsOf(t, file); len(ours) > 0 {
				t.Errorf("%s imports %v: what the contract imports must import nothing of ours", file, ours)
			}
		}
	}
}

// TestContractIsInTheGuide: the recipe for a database names every optional interface in the
// contract.
func TestContractIsInTheGuide(t *testing.T) {
	guide, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatalf("read the guide: %v", err)
	}
	_, recipe, found := strings.Cut(string(guide), "\n## Adding a database\n")
	recipe, _, ended := strings.Cut(recipe, "\n## ")
	if !found || !ended {
		t.Fatal("the guide must have a section on adding a database")
	}
	// Every database has the first two; the others consist of optional interfaces.
	made := []string{"Driver", "Client", "Bulk", "WholeKeys"}
	seen := 0
	for _, file := range sources(t)["pkg/database"] {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("parse the contract: %v", err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if _, ok := spec.Type.(*ast.InterfaceType); !ok || !spec.Name.IsExported() || slices.Contains(made, spec.Name.Name) {
				return false
			}
			seen++
			if !strings.Contains(recipe, "`"+spec.Name.Name+"`") {
				t.Errorf("adding a database does not mention the optional interface %s of %s", spec.Name.Name, file)
			}
			return false
		})
	}
	if seen < 20 {
		t.Errorf("only %d optional interfaces were seen: the test looks in the wrong place", seen)
	}
}
