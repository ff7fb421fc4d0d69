package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// trips are the functions from which a reader follows a run from top to bottom.
var trips = []struct{ dir, function string }{
	{"control", "Run"},
	{"analyze", "Run"},
}

// A walk follows the functions a function names, in the order in which it names them, each once,
// and the functions that these name before it goes on. Calls through an interface end there.
type walk struct {
	bodies  map[string]body
	visited map[string]bool
	rooms   []string // the package with each entered function, in order
}

// body is a function with the types in its package.
type body struct {
	decl *ast.FuncDecl
	info *types.Info
	dir  string
}

// loadBodies loads the packages in the module at root.
func loadBodies(root, module string) (map[string]body, error) {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedExportFile | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
		Dir: root, Env: append(os.Environ(), "CGO_ENABLED=0"),
	}, "./...")
	if err != nil {
		return nil, err
	}
	bodies := map[string]body{}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("%s: %v", p.PkgPath, p.Errors[0])
		}
		for _, f := range p.Syntax {
			for _, d := range f.Decls {
				fd, ok := d.(*ast.FuncDecl)
				if !ok || fd.Body == nil {
					continue
				}
				if fn, ok := p.TypesInfo.Defs[fd.Name].(*types.Func); ok {
					bodies[fn.FullName()] = body{decl: fd, info: p.TypesInfo, dir: strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, module), "/")}
				}
			}
		}
	}
	return bodies, nil
}

// enter follows a function, if it is in the module and was not entered before.
func (w *walk) enter(name string) {
	b, ok := w.bodies[name]
	if !ok || w.visited[name] {
		return
	}
	w.visited[name] = true
	w.rooms = append(w.rooms, b.dir)
	ast.Inspect(b.decl.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if fn, ok := b.info.Uses[id].(*types.Func); ok {
				w.enter(fn.Origin().FullName())
			}
		}
		return true
	})
}

// counts returns the packages that were entered, how often the walk went from a package to
// another one, and how often to one that it had left before.
func (w *walk) counts() (rooms, moves, returns int) {
	seen := map[string]bool{}
	for i, r := range w.rooms {
		if i > 0 && r == w.rooms[i-1] {
			continue
		}
		if i > 0 {
			moves++
			if seen[r] {
				returns++
			}
		}
		seen[r] = true
	}
	return len(seen), moves, returns
}

// printWalks prints a walk from each function in trips.
func printWalks(w io.Writer, root, module string) error {
	bodies, err := loadBodies(root, module)
	if err != nil {
		return err
	}
	heading(w, "Walks", "from", "functions", "packages", "moves between packages", "returns to a package left before")
	for _, t := range trips {
		trip := &walk{bodies: bodies, visited: map[string]bool{}}
		trip.enter(module + "/" + t.dir + "." + t.function)
		rooms, moves, returns := trip.counts()
		row(w, "`"+t.dir+"."+t.function+"`", len(trip.rooms), rooms, moves, returns)
	}
	return nil
}

// moduleOf returns the module path in root.
func moduleOf(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(text), "\n")
	i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "module ") })
	if i < 0 {
		return "", fmt.Errorf("%s names no module", filepath.Join(root, "go.mod"))
	}
	return strings.TrimSpace(strings.TrimPrefix(lines[i], "module ")), nil
}
