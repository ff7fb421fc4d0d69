// Command reached prints the packages whose tests a change can reach: those with changed files, and
// those that import them, directly or not.
//
//	reached [-since REVISION] [-go GO] [DIR]
//
// Changed files differ between the revision and the working tree, or are new. Each file belongs to
// the package in its folder or in the next folder above that has one. A change in go.mod, go.sum or
// the Makefile reaches every package. If no file changed, nothing is printed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	since := flag.String("since", "HEAD", "revision that the working tree is compared with")
	goCommand := flag.String("go", "go", "the go command")
	flag.Parse()
	dir := "."
	if flag.NArg() > 0 {
		dir = flag.Arg(0)
	}
	if err := run(os.Stdout, dir, *since, *goCommand); err != nil {
		fmt.Fprintln(os.Stderr, "reached:", err)
		os.Exit(1)
	}
}

// run prints a line for each package.
func run(out io.Writer, dir, since, goCommand string) error {
	files, err := changed(dir, since)
	packages, listed := list(dir, goCommand)
	if err := errors.Join(err, listed); err != nil {
		return err
	}
	for _, path := range reached(packages, files) {
		fmt.Fprintln(out, path)
	}
	return nil
}
