package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"

	"github.com/coreos/dbtester/pkg/config"
)

// readExperiment reads a file and prints its warnings.
func (a *app) readExperiment(path string) (*config.Experiment, error) {
	return a.readOver(path, nil)
}

// readOver is readExperiment with ability values from the command line over those in the file; nil
// keeps the file as it is.
func (a *app) readOver(path string, over map[string]map[string]string) (*config.Experiment, error) {
	if path == "" {
		return nil, usageError{errors.New("--config FILE is required")}
	}
	e, warnings, err := a.readVariant(path, config.Variant{Flags: over})
	for _, w := range warnings {
		fmt.Fprintln(a.err, w)
	}
	var open *fs.PathError
	if errors.As(err, &open) { // such as a missing file, or a folder
		return nil, usageError{err}
	}
	return e, err
}

// owner identifies this control in the error that other controls get while this one uses an agent.
func owner() string {
	name, host := "someone", "somewhere"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return fmt.Sprintf("%s@%s pid %d", name, host, os.Getpid())
}
