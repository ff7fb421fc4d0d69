// Command testrun runs go test, prints what it prints, and keeps the names of the tests
// that were skipped, with their reasons:
//
//	testrun -skipped FILE -- ARGS...
//
// ARGS are those of go test. FILE is appended to, a line for each test. The exit code is
// that of go test.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
)

func main() {
	file := flag.String("skipped", "", "file to append the skipped tests to")
	goCommand := flag.String("go", "go", "the go command")
	flag.Parse()
	code, err := run(*goCommand, *file, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

// run returns the exit code of go test.
func run(goCommand, file string, args []string) (code int, err error) {
	skipped, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, skipped.Close()) }()
	cmd := exec.Command(goCommand, append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	failed := show(events, os.Stdout, skipped)
	err = cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = nil
	}
	return max(cmd.ProcessState.ExitCode(), 0), errors.Join(err, failed)
}
