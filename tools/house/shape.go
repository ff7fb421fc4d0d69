package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"io"
	"maps"
	"slices"
	"strings"
)

// typeSize counts the methods on a type, their lines and their files.
type typeSize struct {
	name, dir string
	methods   int
	lines     int
	files     map[string]bool
}

func typeSizes(t *tree) []*typeSize {
	sizes := map[string]*typeSize{}
	for _, s := range t.sources {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || len(f.Recv.List) == 0 {
				continue
			}
			name := receiver(f.Recv.List[0].Type)
			size := sizes[s.dir+" "+name]
			if size == nil {
				size = &typeSize{name: name, dir: s.dir, files: map[string]bool{}}
				sizes[s.dir+" "+name] = size
			}
			size.methods++
			size.lines += t.lines(f)
			size.files[s.path] = true
		}
	}
	return slices.SortedFunc(maps.Values(sizes), func(a, b *typeSize) int {
		return cmp.Or(b.methods-a.methods, strings.Compare(a.dir+a.name, b.dir+b.name))
	})
}

// receiver returns the type name of a receiver, without pointer and type parameters.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.ParenExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

func printTypes(w io.Writer, t *tree, top int) {
	sizes := typeSizes(t)
	twenty, spread := 0, 0
	for _, s := range sizes {
		if s.methods >= 20 {
			twenty++
		}
		if len(s.files) >= 5 {
			spread++
		}
	}
	heading(w, "Largest types by methods", "type", "methods", "files", "lines")
	for _, s := range sizes[:min(top, len(sizes))] {
		row(w, "`"+s.dir+"."+s.name+"`", s.methods, len(s.files), s.lines)
	}
	fmt.Fprintf(w, "\nTypes with 20 methods or more: %d. Types whose methods lie in 5 files or more: %d.\n", twenty, spread)
}

func printStructs(w io.Writer, t *tree, top int) {
	type size struct {
		name   string
		fields int
	}
	var sizes []size
	twenty := 0
	for _, s := range t.sources {
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if st, ok := spec.Type.(*ast.StructType); ok {
				sizes = append(sizes, size{"`" + s.dir + "." + spec.Name.Name + "`", fields(st)})
			}
			return true
		})
	}
	slices.SortFunc(sizes, func(a, b size) int { return cmp.Or(b.fields-a.fields, strings.Compare(a.name, b.name)) })
	for _, s := range sizes {
		if s.fields >= 20 {
			twenty++
		}
	}
	heading(w, "Largest structs by fields", "struct", "fields")
	for _, s := range sizes[:min(top, len(sizes))] {
		row(w, s.name, s.fields)
	}
	fmt.Fprintf(w, "\nStructs with 20 fields or more: %d.\n", twenty)
}

// fields counts names; an embedded type is one.
func fields(st *ast.StructType) int {
	n := 0
	for _, f := range st.Fields.List {
		n += max(1, len(f.Names))
	}
	return n
}

func printFunctions(w io.Writer, t *tree, limit int) {
	heading(w, fmt.Sprintf("Functions over %d lines", limit), "function", "lines")
	all, long := 0, 0
	for _, s := range t.sources {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			all++
			if n := t.lines(f); n > limit {
				long++
				row(w, s.path+" `"+f.Name.Name+"`", n)
			}
		}
	}
	fmt.Fprintf(w, "\n%d of %d functions.\n", long, all)
}
