// Package experiment runs an experiment on this machine with a built dbtester, for programs that
// compare its records with their own measurements.
package experiment

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/sleep"
)

// Main calls do with the arguments, the standard output for its results, and the standard error for
// its progress. An interrupt ends the context. An error ends the program with code 1.
func Main(name string, do func(ctx context.Context, args []string, out, progress io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := do(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Build builds the program in a folder, for tests whose programs run it, and returns its path. It
// is compiled as by make build and make vet, and then not compiled again.
func Build(dir string) (program string, err error) {
	if err := lookAtSources(); err != nil {
		return "", err
	}
	program = filepath.Join(dir, "dbtester")
	cmd := exec.Command("go", "build", "-trimpath", "-o", program, "github.com/coreos/dbtester/cmd/dbtester")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, text)
	}
	return program, nil
}

// lookAtSources stats all source files. go test caches a test result while the files the test
// itself opened or statted are unchanged, and does not know the files that go build reads.
func lookAtSources() error {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	return filepath.WalkDir(filepath.Dir(strings.TrimSpace(string(mod))), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case d.IsDir() && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case filepath.Ext(path) == ".go":
			_, err = os.Stat(path)
		}
		if errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile
			return nil
		}
		return err
	})
}

// Busy describes how busy the machine is, whose other work changes times. when completes "with a
// load of 1.5".
func Busy(when string) string {
	var one float64
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, err = fmt.Sscan(string(text), &one)
	}
	if err != nil {
		return "with an unknown load " + when
	}
	return fmt.Sprintf("with a load of %.1f %s", one, when)
}

// The releases of the databases that programs install, as a report names them, and the keys that
// ask for them in an experiment file.
const (
	ZooKeeperRelease = "3.9.5"
	ConsulRelease    = "1.21.0"

	ZooKeeper = "version: " + ZooKeeperRelease + ", install: true"
	Consul    = "version: " + ConsulRelease + ", install: true"
)

// marked is the exit code when the numbers from a run have a mark, as on a busy machine.
const marked = 3

// Run runs the program with an experiment file that holds text, in a folder that is made if absent.
// It returns the path to the only record below the run folder that matches the pattern. A marked
// run is no error.
func Run(ctx context.Context, program, dir, text, record string, args ...string) (string, error) {
	return Control{Program: program, Dir: dir, Text: text, Args: args}.Run(ctx, record)
}

// Control describes how to run the program once.
type Control struct {
	Program string
	// Dir is the run folder, which is made if absent, and Text its experiment.
	Dir, Text string
	// Agents means that agents run. Without them control starts its own.
	Agents bool
	Args   []string
	// Beside is called with the process while it runs, unless it is nil. Its context ends with the
	// process.
	Beside func(context.Context, *os.Process)
}

// Run makes the run, as [Run] does.
func (c Control) Run(ctx context.Context, record string) (string, error) {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return "", err
	}
	file, kept := filepath.Join(c.Dir, "experiment.yaml"), Results(c.Dir)
	if err := os.WriteFile(file, []byte(c.Text), 0o600); err != nil {
		return "", err
	}
	args := []string{"control"}
	if !c.Agents {
		args = append(args, "--local")
	}
	cmd := exec.CommandContext(ctx, c.Program, append(append(args, "--config", file, "--results", kept, "--quiet"), c.Args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := c.wait(ctx, cmd)
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != marked) {
		return "", fmt.Errorf("%w: %s", err, said.String())
	}
	found, err := filepath.Glob(filepath.Join(kept, "*", "*", record))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("the run must have one %s, got %d: %s", record, len(found), said.String())
	}
	return found[0], nil
}

// Output runs the program with arguments and returns its standard output. A marked run is no error.
func Output(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var said, complained bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &complained
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != marked) {
		return "", fmt.Errorf("%w: %s", err, complained.String())
	}
	return said.String(), nil
}

// Version is the program commit and the etcd built into it.
func Version(ctx context.Context, program string) (string, error) {
	text, err := Output(ctx, program, "version")
	if err != nil {
		return "", fmt.Errorf("ask for the version: %w", err)
	}
	var parts []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "dbtester ") || strings.HasPrefix(line, "embedded etcd ") {
			parts = append(parts, strings.TrimPrefix(line, "embedded "))
		}
	}
	return strings.Join(parts, ", "), nil
}

// wait starts the process and waits until the process and Beside have ended.
func (c Control) wait(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	running, over := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	if c.Beside != nil {
		tasks.Go(func() { c.Beside(running, cmd.Process) })
	}
	err := cmd.Wait()
	over()
	tasks.Wait()
	return err
}

// Results returns the path under which a run in dir writes its result folders.
func Results(dir string) string { return filepath.Join(dir, "results") }

// Await waits until a database in the run folder has an event of this kind. It returns false if ctx
// ended before.
func Await(ctx context.Context, dir, kind string) bool {
	event := fmt.Appendf(nil, `"kind":%q`, kind)
	for ctx.Err() == nil {
		found, _ := filepath.Glob(filepath.Join(Results(dir), "*", "*", "*", "events.jsonl")) // the pattern is right
		for _, path := range found {
			if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, event) {
				return true
			}
		}
		sleep.For(ctx, 20*time.Millisecond)
	}
	return false
}

// Table reads a table from a record: the values in each row by column name.
func Table(path string) (rows []map[string]string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("read %s: it has no header", path)
	}
	for _, values := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = values[i]
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Numbers reads the numbers in a table and keeps the first error.
type Numbers struct{ Err error }

// Of returns the number in the column of row.
func (n *Numbers) Of(row map[string]string, column string) float64 {
	v, err := strconv.ParseFloat(row[column], 64)
	if err != nil && n.Err == nil {
		n.Err = fmt.Errorf("column %s: %w", column, err)
	}
	return v
}
