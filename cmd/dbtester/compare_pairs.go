package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/coreos/dbtester/analyze/compare"
	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/control/forecast"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/plaintext"
)

// makeFlags are those of a comparison that makes its runs.
type makeFlags struct {
	a, b         string
	pairs, until int
	control      controlFlags // those that runs need
}

func (f *makeFlags) register(a *app, flags *pflag.FlagSet) {
	flags.StringVar(&f.a, "a", "", "instead of recorded runs: experiment file of A, with one database")
	flags.StringVar(&f.b, "b", "", "experiment file of B")
	flags.IntVar(&f.pairs, "pairs", 8, "with --a and --b: pairs of runs to make, in the order A B B A, each on a fresh cluster")
	flags.IntVar(&f.until, "until", 0, "with --a and --b: make two more pairs at a time up to this number while the result is inconclusive (default: as --pairs)")
	c := &f.control
	flags.StringVar(&c.results, "results", "", "with --a and --b: folder to make the folders a and b of result folders in (default: compare in A's folder of results)")
	flags.BoolVar(&c.local, "local", false, "with --a and --b: run the agents of loopback hosts inside this process")
	flags.StringVar(&c.workDir, "work-dir", "", "directory for the databases of --local (default: below the results folder)")
	flags.BoolVar(&c.fullSpeed, "full-speed", false, "allow loads without a rate on endpoints, which others may use")
	registerCache(flags, &c.cache, "directory of releases for --local")
	c.link.register(flags, "control's certificate", "contact agents on other machines without TLS, and agents that let in anyone")
	c.tools.register(flags, a.registry)
	c.noUpload = true
}

// makePairs makes the runs of a comparison.
func (a *app) makePairs(ctx context.Context, f *makeFlags, o compare.Options) (*compare.Report, error) {
	s := compare.Session{Options: o, Pairs: f.pairs, Until: cmp.Or(f.until, f.pairs)}
	if err := s.Check(); err != nil {
		return nil, usageError{err}
	}
	files := map[string]string{"A": f.a, "B": f.b}
	for _, side := range []string{"A", "B"} {
		if files[side] == "" {
			return nil, usageError{errors.New("a comparison needs both --a FILE and --b FILE")}
		}
		e, err := a.readExperiment(files[side])
		if err != nil {
			return nil, err
		}
		if err := oneRun(e, files[side]); err != nil {
			return nil, usageError{err}
		}
		if f.control.results == "" { // of A
			f.control.results = filepath.Join(e.Results, "compare")
		}
		if err := a.checkFill(forecast.All(e, f.control.machine(e))); err != nil {
			return nil, err
		}
	}
	s.Say = func(text string) { fmt.Fprintf(a.err, "dbtester: %s\n", plaintext.Visible(text)) }
	s.Make = func(ctx context.Context, side string) (string, error) { return a.makeRun(ctx, f, side, files[side]) }
	return s.Conduct(ctx)
}

// oneRun returns an error if an experiment is not one run of one database.
func oneRun(e *config.Experiment, path string) error {
	switch {
	case len(e.Databases) != 1:
		return fmt.Errorf("%s must have one database to be compared, got %d", path, len(e.Databases))
	case e.Trials > 1:
		return fmt.Errorf("%s must have one trial, got %d: pairs are the trials of a comparison", path, e.Trials)
	}
	return nil
}

// makeRun makes one run and returns its folder. A run that is not valid is no error: the
// comparison reads its marks.
func (a *app) makeRun(ctx context.Context, f *makeFlags, side, path string) (string, error) {
	e, _, err := config.Read(path, control.Catalog(a.registry)) // its warnings were printed
	if err != nil {
		return "", err
	}
	e.Results = filepath.Join(f.control.results, map[string]string{"A": "a", "B": "b"}[side])
	if f.control.link.certs != "" {
		e.AgentCerts = f.control.link.certs
	}
	out, err := a.conduct(ctx, e, f.control)
	if invalid := (*invalidError)(nil); err != nil && !errors.As(err, &invalid) {
		return "", err
	}
	if len(out.Folders) != 1 {
		return "", fmt.Errorf("one result folder was expected, got %d", len(out.Folders))
	}
	return out.Folders[0], nil
}
