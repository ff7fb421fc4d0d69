package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"io"
	"maps"
	"path"
	"slices"
)

// arrow goes from a file to one that declares something which the file uses: a function, type,
// variable, constant, method or field in the same package.
type arrow struct{ from, to string }

// arrowSet holds arrows, each with the names in the second file that the first uses.
type arrowSet map[arrow]map[string]bool

// arrows resolves names by go/types. Imported packages stay unread, but for those in generic, so that
// a tree is measured without being built. Names that only imported types could resolve are left out.
func (t *tree) arrows(sources []*source) arrowSet {
	var files []*ast.File
	names := map[string]string{}
	for _, s := range sources {
		files = append(files, s.file)
		names[t.fset.Position(s.file.Pos()).Filename] = path.Base(s.path)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Error: func(error) {}, Importer: t.imports}
	conf.Check("measured", t.fset, files, info) //nolint:errcheck // unread imports make errors
	found := arrowSet{}
	for id, object := range info.Uses {
		from := names[t.fset.Position(id.Pos()).Filename]
		to := names[t.fset.Position(object.Pos()).Filename]
		if from != "" && to != "" && from != to {
			a := arrow{from, to}
			if found[a] == nil {
				found[a] = map[string]bool{}
			}
			found[a][object.Name()] = true
		}
	}
	return found
}

// sorted returns the arrows, sorted by their file names.
func (found arrowSet) sorted() []arrow {
	return slices.SortedFunc(maps.Keys(found), func(a, b arrow) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
}

// uses returns the files each file uses, by name.
func (found arrowSet) uses() map[string][]string {
	uses := map[string][]string{}
	for _, a := range found.sorted() {
		uses[a.from] = append(uses[a.from], a.to)
	}
	return uses
}

// order is how the files in a package lie on floors. A file lies one floor above the highest file
// it uses. Files are visited by name, depth first; an arrow to a file whose visit has begun and not
// ended closes a cycle and runs back up.
type order struct {
	floors int
	backUp int
}

func orderOf(files []string, found arrowSet) order {
	uses := found.uses()
	o, floor, begun := order{}, map[string]int{}, map[string]bool{}
	var visit func(string) int
	visit = func(f string) int {
		begun[f] = true
		height := 1
		for _, to := range uses[f] {
			if begun[to] && floor[to] == 0 {
				o.backUp++
				continue
			}
			if !begun[to] {
				visit(to)
			}
			height = max(height, floor[to]+1)
		}
		floor[f] = height
		o.floors = max(o.floors, height)
		return height
	}
	for _, f := range slices.Sorted(slices.Values(files)) {
		if !begun[f] {
			visit(f)
		}
	}
	return o
}

// mutual counts arrows whose opposite exists too.
func mutual(found arrowSet) int {
	n := 0
	for a := range found {
		if found[arrow{a.to, a.from}] != nil {
			n++
		}
	}
	return n
}

func printPackages(w io.Writer, t *tree) {
	heading(w, "Packages, without tests", "package", "files", "lines", "floors", "arrows between files", "back up", "of mutual pairs")
	packages := t.packages()
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		sources, lines := packages[dir], 0
		var files []string
		for _, s := range sources {
			files = append(files, path.Base(s.path))
			lines += t.fset.File(s.file.Pos()).LineCount()
		}
		found := t.arrows(sources)
		o := orderOf(files, found)
		row(w, "`"+dir+"`", len(files), lines, o.floors, len(found), share(o.backUp, len(found)), share(mutual(found), len(found)))
	}
	fmt.Fprintln(w, "\nA file lies one floor above the highest file that it uses. Files are visited by name, depth first:")
	fmt.Fprintln(w, "an arrow that closes a cycle runs back up.")
}

func share(n, of int) string {
	if of == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%d %%)", n, (100*n+of/2)/of)
}
