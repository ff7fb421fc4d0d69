// Command testrun runs go test and prints its output. It also records the skipped tests with their
// reasons, and the time and the CPU time each package took:
//
//	testrun -skipped FILE -times FILE -- ARGS...
//	testrun -times FILE -compare FILE
//
// ARGS are arguments for go test. The files are appended to, with a line for each skipped test and
// for each package: seconds, the package, and the CPU seconds that its test process and the
// processes below it took. The CPU time of the go command with its compilers and linkers is
// recorded under cmd/go. The exit code comes from go test. The second form prints the packages
// whose tests took much longer, or much more CPU time, than in the file from an earlier run, and
// the totals in both.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

func main() {
	file := flag.String("skipped", "", "file to append the skipped tests to")
	times := flag.String("times", "", "file to append the times of packages to")
	before := flag.String("compare", "", "file of times to compare those of -times with")
	goCommand := flag.String("go", "go", "the go command")
	flag.Parse()
	if *before != "" {
		if err := compareFiles(os.Stdout, *before, *times); err != nil {
			fmt.Fprintln(os.Stderr, "testrun:", err)
			os.Exit(1)
		}
		return
	}
	code, err := run(*goCommand, *file, *times, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

// goPackage stands for the go command in files with times.
const goPackage = "cmd/go"

// run returns the exit code from go test.
func run(goCommand, skippedFile, timesFile string, args []string) (code int, err error) {
	skipped, err := appendTo(skippedFile)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, skipped.Close()) }()
	times, err := appendTo(timesFile)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, times.Close()) }()
	cmd := exec.Command(goCommand, append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	cpu, stop := newSampler("/proc", cmd.Process.Pid), make(chan struct{})
	var sampling sync.WaitGroup
	sampling.Go(func() { cpu.run(stop) })
	failed := show(events, os.Stdout, skipped, times, cpu.cpu)
	err = cmd.Wait()
	close(stop)
	sampling.Wait()
	if all := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); all > 0 {
		fmt.Fprintf(times, "0.0\t%s\t%.1f\n", goPackage, max(0, all.Seconds()-cpu.all()))
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = nil
	}
	return max(cmd.ProcessState.ExitCode(), 0), errors.Join(err, failed)
}

// appendTo opens the file to append to. Without a name nothing is kept.
func appendTo(name string) (io.WriteCloser, error) {
	return os.OpenFile(cmp.Or(name, os.DevNull), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
}
