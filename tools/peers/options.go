package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// options are common to all runs in a comparison.
type options struct {
	dbtester string
	repo     string // the dbtester source
	pairs    int    // runs per program; 0 for the default in a part
	data     string // where the work directory is made; "" is the usual place
	dir      string // work directory, empty until workIn
	load
}

// register declares the flags that all comparisons have.
func (o *options) register(flags *flag.FlagSet) {
	flags.StringVar(&o.dbtester, "dbtester", "../../bin/dbtester", "the dbtester to measure")
	flags.StringVar(&o.repo, "repo", "../..", "its source")
	flags.IntVar(&o.pairs, "pairs", 0, "runs of each program (default as the part has it)")
	flags.StringVar(&o.data, "data", "/dev/shm", "where servers keep their data: memory, so that no disk decides")
}

// resolve makes the paths independent of the working directory.
func (o *options) resolve() (err error) {
	if o.dbtester, err = filepath.Abs(o.dbtester); err != nil {
		return err
	}
	o.repo, err = filepath.Abs(o.repo)
	return err
}

// workIn calls do with a work directory, which is then removed. pairs is the default number of
// pairs.
func (o options) workIn(pairs int, do func(options) error) (err error) {
	if o.pairs == 0 {
		o.pairs = pairs
	}
	if o.dir, err = os.MkdirTemp(o.data, "dbtester-peers-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	return do(o)
}

// build compiles pkg in folder and returns the path to the program.
func (o options) build(ctx context.Context, folder, pkg string) (string, error) {
	program := filepath.Join(o.dir, filepath.Base(pkg))
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, pkg)
	cmd.Dir = folder
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return program, nil
}
