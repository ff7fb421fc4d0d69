// Command hostile runs all cases in the tests that feed untrusted files and answers to the program,
// and prints a table with the cases and their expected outcomes:
//
//	hostile [-go GO]
//
// The exit code is 1 if a case failed, or if a test has no cases.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/coreos/dbtester/pkg/files/plaintext"
)

func main() {
	goCommand := flag.String("go", "go", "the go command")
	flag.Parse()
	if err := run(*goCommand, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
}

// run prints the table, and returns the cases that failed as an error.
func run(goCommand string, w io.Writer) error {
	fmt.Fprint(w, "# Files and answers of others\n\nWhat `make hostile` gave to what acts on it, and whether the outcome was the expected one.\n")
	var errs []error
	last := ""
	for _, s := range suites() {
		cases, err := s.run(goCommand)
		if err != nil {
			errs = append(errs, err)
		}
		if s.made != last {
			fmt.Fprintf(w, "\n## %s\n", s.made)
			last = s.made
		}
		fmt.Fprintf(w, "\n`%s` of `%s`: %s.\n\n", s.test, s.pkg, s.expected)
		var rows [][]string
		for _, c := range cases {
			rows = append(rows, []string{c.name, c.result})
			if c.result != "pass" {
				errs = append(errs, fmt.Errorf("%s: %s: %s", s.pkg, c.name, c.result))
			}
		}
		fmt.Fprint(w, plaintext.Table([]string{"case", "result"}, rows, 2))
	}
	return errors.Join(errs...)
}

// tried is one case in a test.
type tried struct{ name, result string }

// run runs a test with all its cases.
func (s suite) run(goCommand string) ([]tried, error) {
	cmd := exec.Command(goCommand, "test", "-count=1", "-timeout", "60m", "-json", "-run", "^("+s.test+")$", s.pkg)
	cmd.Env = append(os.Environ(), "DBTESTER_HOSTILE=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	cases, read := casesOf(out)
	switch {
	case read != nil:
		return cases, fmt.Errorf("%s: %w", s.pkg, read)
	case len(cases) == 0 && err == nil:
		return nil, fmt.Errorf("%s: no test %s ran", s.pkg, s.test)
	case err != nil:
		return cases, fmt.Errorf("%s: %s: %w", s.pkg, s.test, err)
	}
	return cases, nil
}

// casesOf returns the tests without subtests in events from go test -json, in the order in which
// they ended.
func casesOf(events []byte) (cases []tried, err error) {
	parents := map[string]bool{}
	var ended []tried
	for d := json.NewDecoder(strings.NewReader(string(events))); ; {
		var e struct{ Action, Test string }
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read the output of go test: %w", err)
		}
		for at := strings.LastIndexByte(e.Test, '/'); at > 0; at = strings.LastIndexByte(e.Test[:at], '/') {
			parents[e.Test[:at]] = true
		}
		switch e.Action {
		case "pass", "fail", "skip":
			if e.Test != "" {
				ended = append(ended, tried{e.Test, e.Action})
			}
		}
	}
	for _, one := range ended {
		if !parents[one.name] || one.result == "fail" {
			_, below, found := strings.Cut(one.name, "/")
			if found {
				one.name = below
			}
			one.name = strings.ReplaceAll(one.name, "_", " ")
			cases = append(cases, one)
		}
	}
	return cases, nil
}
