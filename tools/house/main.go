// Command house measures the shape of a Go source tree and prints it as Markdown. It shows the
// packages and their imports, the places that speak of each ability, and the largest types. It also
// shows the files in each package and their order, the words in comments, and the way through the
// packages from the top of a run. Run it by `make house`.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	top := flag.Int("top", 12, "rows of the tables of types and structs")
	sample := flag.Int("comments", 0, "number of comments to print, drawn at random")
	seed := flag.Uint64("seed", 1, "seed of that draw")
	circles := flag.String("circles", "", "print nothing but the files of this package that use one another, in a circle, and the names that they use")
	flag.Parse()
	dir := "."
	if flag.NArg() > 0 {
		dir = flag.Arg(0)
	}
	do := func() error { return measure(os.Stdout, dir, *top, *sample, *seed) }
	if *circles != "" {
		do = func() error { return circlesOf(os.Stdout, dir, *circles) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

// measure prints every table for the tree in dir, and a sample from its comments.
func measure(w io.Writer, dir string, top, sample int, seed uint64) error {
	module, err := moduleOf(dir)
	if err != nil {
		return err
	}
	t, err := readTree(dir)
	if err != nil {
		return err
	}
	report(w, t, module, top)
	if err := printWalks(w, dir, module); err != nil {
		return err
	}
	printSample(w, t, sample, seed)
	return nil
}

// circlesOf prints the circles in a package of the tree in dir.
func circlesOf(w io.Writer, dir, of string) error {
	t, err := readTree(dir)
	if err != nil {
		return err
	}
	return printCircles(w, t, of)
}

// report prints the tables for t. They omit tests and generated files.
func report(w io.Writer, t *tree, module string, top int) {
	printWhole(w, t, module)
	printAbilities(w, t)
	printTypes(w, t, top)
	printStructs(w, t, top)
	printPackages(w, t)
	printFunctions(w, t, 70)
	printProse(w, t)
}
