// Command house measures the shape of a Go source tree and prints it as Markdown:
// the largest types, the files of each package, the order of files inside a package,
// and the words of comments. Run it by `make house`.
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
	flag.Parse()
	dir := "."
	if flag.NArg() > 0 {
		dir = flag.Arg(0)
	}
	t, err := readTree(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
	report(os.Stdout, t, *top)
	printSample(os.Stdout, t, *sample, *seed)
}

// report prints every table of t. Tests and generated files are in none of them.
func report(w io.Writer, t *tree, top int) {
	printTypes(w, t, top)
	printStructs(w, t, top)
	printPackages(w, t)
	printFunctions(w, t, 70)
	printProse(w, t)
}

// heading prints a title and the head of a table below it.
func heading(w io.Writer, title string, columns ...string) {
	fmt.Fprintf(w, "\n## %s\n\n", title)
	rule := "|"
	fmt.Fprint(w, "|")
	for _, c := range columns {
		fmt.Fprintf(w, " %s |", c)
		rule += "---|"
	}
	fmt.Fprintf(w, "\n%s\n", rule)
}

func row(w io.Writer, cells ...any) {
	fmt.Fprint(w, "|")
	for _, c := range cells {
		fmt.Fprintf(w, " %v |", c)
	}
	fmt.Fprintln(w)
}
