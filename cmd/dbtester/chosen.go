package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
)

// chosenFlags select which parts of an experiment file to run, and change them.
type chosenFlags struct {
	databaseID string // "" for all
	requests   int64  // 0 for the number in the file
	trials     []int  // nil for all
	use        []string
}

func (f *chosenFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.databaseID, "database-id", "", "run only this database of the file (default: each in turn)")
	flags.Int64Var(&f.requests, "requests", 0, "number of requests to each database, overriding the file's number")
	flags.IntSliceVar(&f.trials, "trial", nil, "run only this trial of the file, such as one missing from an interrupted run (repeatable)")
	flags.StringArrayVar(&f.use, "use-version", nil, useVersionHelp)
}

// apply changes the experiment, and checks that it has the trials.
func (f chosenFlags) apply(e *config.Experiment, r *database.Registry, file string) error {
	if err := useVersions(e, r, f.use); err != nil {
		return err
	}
	if f.databaseID != "" {
		if err := e.Select(f.databaseID); err != nil {
			return usageError{err}
		}
	}
	if f.requests > 0 {
		if err := e.SetRequests(f.requests); err != nil {
			return usageError{fmt.Errorf("--requests %d: %w", f.requests, err)}
		}
	}
	for _, n := range f.trials {
		if most := max(e.Trials, 1); n < 1 || n > most {
			return usageError{fmt.Errorf("--trial must be 1 to %d, the trials of %s, got %d", most, file, n)}
		}
	}
	return nil
}
