package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// pack is a package in the module, as go list prints it.
type pack struct {
	ImportPath, Dir                    string
	Module                             struct{ Dir string }
	Imports, TestImports, XTestImports []string
}

// list returns the packages in the module in dir, for this system.
func list(dir, goCommand string) ([]pack, error) {
	text, err := output(dir, goCommand, "list", "-json=ImportPath,Dir,Module,Imports,TestImports,XTestImports", "./...")
	if err != nil {
		return nil, err
	}
	var packages []pack
	for in := json.NewDecoder(strings.NewReader(text)); ; {
		var p pack
		if err := in.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("decode what go list prints: %w", err)
		}
		packages = append(packages, p)
	}
}

// reached returns the import paths of the packages that changed files can reach, sorted.
func reached(packages []pack, files []string) []string {
	folders := map[string]string{} // import paths by folder, relative to the root
	for _, p := range packages {
		if rel, err := filepath.Rel(p.Module.Dir, p.Dir); err == nil {
			folders[filepath.ToSlash(rel)] = p.ImportPath
		}
	}
	compiled := map[string]bool{} // changed, so that importers are reached
	for _, file := range files {
		switch file {
		case "go.mod", "go.sum", "Makefile":
			return all(packages)
		}
		if owner := owner(folders, file); owner != "" {
			compiled[owner] = compiled[owner] || !strings.HasSuffix(file, "_test.go")
		}
	}
	return closed(packages, compiled)
}

func all(packages []pack) []string {
	var paths []string
	for _, p := range packages {
		paths = append(paths, p.ImportPath)
	}
	slices.Sort(paths)
	return paths
}

// owner returns the package a file belongs to, or "".
func owner(folders map[string]string, file string) string {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if found := folders[dir]; found != "" || dir == "." {
			return found
		}
	}
}

// closed adds the packages that import a compiled one, directly or not, and those whose tests
// import one of these.
func closed(packages []pack, compiled map[string]bool) []string {
	uses := func(paths []string) bool {
		return slices.ContainsFunc(paths, func(p string) bool { return compiled[p] })
	}
	for grown := true; grown; {
		grown = false
		for _, p := range packages {
			if !compiled[p.ImportPath] && uses(p.Imports) {
				compiled[p.ImportPath], grown = true, true
			}
		}
	}
	var paths []string
	for _, p := range packages {
		_, touched := compiled[p.ImportPath]
		if touched || uses(p.TestImports) || uses(p.XTestImports) {
			paths = append(paths, p.ImportPath)
		}
	}
	slices.Sort(paths)
	return paths
}
