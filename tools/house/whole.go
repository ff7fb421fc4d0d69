package main

import (
	"fmt"
	"go/ast"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// hubs are the structs that many packages must know. Those a tree lacks are left out.
var hubs = []string{
	"pkg/results.DatabaseRun", "pkg/workload.Load", "pkg/config.Experiment", "pkg/config.Database",
	"cmd/dbtester.controlFlags", "control.Options",
}

// abilities lists the program abilities during or around a load, and the words in code and comments
// that mention each.
var abilities = []struct {
	name  string
	match *regexp.Regexp
}{
	{"upkeep", regexp.MustCompile(`(?i)upkeep|maintain`)},
	{"guard", regexp.MustCompile(`(?i)guard(s|ed)?\b|Guard`)},
	{"capacity", regexp.MustCompile(`(?i)capacity\b|Capacity[A-Z]`)},
	{"profiles", regexp.MustCompile(`(?i)profile`)},
	{"clocks", regexp.MustCompile(`(?i)clocks|clockfile|FileClock`)},
	{"limits", regexp.MustCompile(`(?i)cgroup|\bresources\b|Resources`)},
	{"sweep", regexp.MustCompile(`(?i)sweep`)},
	{"preload", regexp.MustCompile(`(?i)preload`)},
	{"self-check", regexp.MustCompile(`(?i)self-?check`)},
	{"generators", regexp.MustCompile(`(?i)generators`)},
}

// contract is the package every driver implements.
const contract = "pkg/database"

// packageNode is a package among those in its module.
type packageNode struct {
	lines    int
	exported int
	imports  map[string]bool // directories in the same module
}

// graph returns the packages in the module by directory.
func (t *tree) graph(module string) map[string]*packageNode {
	nodes := map[string]*packageNode{}
	for dir, sources := range t.packages() {
		n := &packageNode{imports: map[string]bool{}}
		for _, s := range sources {
			n.lines += t.fset.File(s.file.Pos()).LineCount()
			n.exported += exported(s.file)
			for _, i := range s.file.Imports {
				p, err := strconv.Unquote(i.Path.Value)
				if err == nil && (p == module || strings.HasPrefix(p, module+"/")) {
					n.imports[path.Clean("./"+strings.TrimPrefix(p, module))] = true
				}
			}
		}
		nodes[dir] = n
	}
	return nodes
}

// exported counts the exported names a file declares at its top, without methods.
func exported(f *ast.File) (n int) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.IsExported() {
				n++
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				for _, name := range declared(s) {
					if name.IsExported() {
						n++
					}
				}
			}
		}
	}
	return n
}

func declared(s ast.Spec) []*ast.Ident {
	switch s := s.(type) {
	case *ast.TypeSpec:
		return []*ast.Ident{s.Name}
	case *ast.ValueSpec:
		return s.Names
	}
	return nil
}

// closure returns the packages that one needs, itself included.
func closure(nodes map[string]*packageNode, dir string) map[string]bool {
	found := map[string]bool{}
	var visit func(string)
	visit = func(d string) {
		if n := nodes[d]; n != nil && !found[d] {
			found[d] = true
			for i := range n.imports {
				visit(i)
			}
		}
	}
	visit(dir)
	return found
}

// longestChain returns the packages in the longest import chain, importers first.
func longestChain(nodes map[string]*packageNode) []string {
	chains := map[string][]string{}
	var chain func(string) []string
	chain = func(dir string) []string {
		if nodes[dir] == nil {
			return nil
		}
		if c, ok := chains[dir]; ok {
			return c
		}
		var longest []string
		for _, i := range slices.Sorted(maps.Keys(nodes[dir].imports)) {
			if c := chain(i); len(c) > len(longest) {
				longest = c
			}
		}
		chains[dir] = append([]string{dir}, longest...)
		return chains[dir]
	}
	var longest []string
	for _, dir := range slices.Sorted(maps.Keys(nodes)) {
		if c := chain(dir); len(c) > len(longest) {
			longest = c
		}
	}
	return longest
}

// printWhole prints figures for the tree as a whole.
func printWhole(w io.Writer, t *tree, module string) {
	nodes := t.graph(module)
	lines, names, folders := 0, 0, map[string]bool{}
	for dir, n := range nodes {
		lines += n.lines
		names += n.exported
		if below, ok := strings.CutPrefix(dir, "pkg/"); ok {
			first, _, _ := strings.Cut(below, "/")
			folders[first] = true
		}
	}
	heading(w, "The whole", "figure", "value")
	row(w, "lines", lines)
	row(w, "packages", len(nodes))
	row(w, "folders directly in pkg", len(folders))
	row(w, "exported names, without methods", names)
	if n := nodes[contract]; n != nil {
		needed, below := closure(nodes, contract), 0
		for dir := range needed {
			below += nodes[dir].lines
		}
		row(w, "exported names of `"+contract+"`", n.exported)
		row(w, "packages that `"+contract+"` needs, itself included", len(needed))
		row(w, "lines of these packages", below)
	}
	chain := longestChain(nodes)
	row(w, "longest chain of imports", fmt.Sprintf("%d: %s", len(chain), strings.Join(chain, " → ")))
	total := 0
	for _, hub := range hubs {
		if n := fieldsOf(t, hub); n > 0 {
			row(w, "fields of `"+hub+"`", n)
			total += n
		}
	}
	row(w, "fields of these structs", total)
}

// fieldsOf counts the fields in a struct; 0 if there is no struct with this directory and name.
func fieldsOf(t *tree, name string) (n int) {
	for _, s := range t.sources {
		for _, d := range s.file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				if ts, ok := spec.(*ast.TypeSpec); ok && s.dir+"."+ts.Name.Name == name {
					if st, ok := ts.Type.(*ast.StructType); ok {
						n = fields(st)
					}
				}
			}
		}
	}
	return n
}

// printAbilities counts the files and packages that speak of each ability, tools left out.
func printAbilities(w io.Writer, t *tree) {
	heading(w, "Files and packages that speak of an ability", "ability", "words", "files", "packages")
	for _, a := range abilities {
		files, packages := 0, map[string]bool{}
		for _, s := range t.sources {
			if !strings.HasPrefix(s.dir, "tools") && a.match.Match(s.text) {
				files++
				packages[s.dir] = true
			}
		}
		row(w, a.name, "`"+strings.ReplaceAll(strings.TrimPrefix(a.match.String(), "(?i)"), "|", "` `")+"`", files, len(packages))
	}
}
