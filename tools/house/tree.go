package main

import (
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// source is one Go file that people wrote, without tests.
type source struct {
	path string // slash-separated, relative to the tree
	dir  string
	file *ast.File
	text []byte
}

// tree is every source in one directory and those below it.
type tree struct {
	fset    *token.FileSet
	sources []*source
	imports types.Importer
}

// skipped are directories that hold no source of the program.
var skipped = []string{"testdata", "vendor", "node_modules"}

// built are directories at the top of the tree that the program's own runs write.
var built = []string{"bin", "results"}

func readTree(root string) (*tree, error) {
	t := &tree{fset: token.NewFileSet()}
	t.imports = unread{importer.ForCompiler(t.fset, "source", nil)}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			return descend(rel, d.Name())
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(t.fset, p, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || ast.IsGenerated(f) {
			return err
		}
		t.sources = append(t.sources, &source{path: rel, dir: filepath.ToSlash(filepath.Dir(rel)), file: f, text: text})
		return nil
	})
	return t, err
}

// descend returns fs.SkipDir for a directory without sources of the program.
func descend(rel, name string) error {
	hidden := rel != "." && strings.HasPrefix(name, ".")
	if hidden || slices.Contains(skipped, name) || slices.Contains(built, rel) {
		return fs.SkipDir
	}
	return nil
}

// packages are the sources by directory.
func (t *tree) packages() map[string][]*source {
	packages := map[string][]*source{}
	for _, s := range t.sources {
		packages[s.dir] = append(packages[s.dir], s)
	}
	return packages
}

// lines counts the lines a node spans, including the first and the last.
func (t *tree) lines(n ast.Node) int {
	return t.fset.Position(n.End()).Line - t.fset.Position(n.Pos()).Line + 1
}

// generic are packages whose types and functions hand on types of their callers, such as
// atomic.Pointer and slices.Collect.
var generic = []string{"cmp", "iter", "maps", "slices", "sync", "sync/atomic"}

// unread imports packages in generic from their source, and no others.
type unread struct{ source types.Importer }

func (u unread) Import(name string) (*types.Package, error) {
	if slices.Contains(generic, name) {
		return u.source.Import(name)
	}
	return nil, errors.New("imports are not read")
}
