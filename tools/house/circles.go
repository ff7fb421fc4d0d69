package main

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// printCircles prints the arrows in a package that lie on a circle, with the names that cause them.
// A package without circles can be read from its lowest file to its highest.
func printCircles(w io.Writer, t *tree, dir string) error {
	sources := t.packages()[path.Clean(dir)]
	if sources == nil {
		return fmt.Errorf("no package in %s", dir)
	}
	found := t.arrows(sources)
	reached := reach(found.uses())
	for _, a := range found.sorted() {
		if reached[a.to][a.from] {
			fmt.Fprintf(w, "%s -> %s: %s\n", a.from, a.to, strings.Join(slices.Sorted(maps.Keys(found[a])), ", "))
		}
	}
	return nil
}

// reach returns the files that can be reached from each file by one arrow or more.
func reach(uses map[string][]string) map[string]map[string]bool {
	reached := map[string]map[string]bool{}
	for from := range uses {
		seen, next := map[string]bool{}, slices.Clone(uses[from])
		for len(next) > 0 {
			f := next[0]
			next = next[1:]
			if !seen[f] {
				seen[f] = true
				next = append(next, uses[f]...)
			}
		}
		reached[from] = seen
	}
	return reached
}
