package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/files/regularfile"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// stdinWord selects standard input wherever commands accept an experiment file. A file with that
// name is ./-.
const stdinWord = "-"

// standardInput returns the data on standard input, at most as many bytes as an experiment
// file may have.
func (a *app) standardInput() ([]byte, error) {
	if a.typed.read {
		return a.typed.data, nil
	}
	data, err := io.ReadAll(io.LimitReader(a.in, yamlfile.MaxSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read standard input: %w", err)
	case len(data) > yamlfile.MaxSize:
		return nil, usageError{fmt.Errorf("%s: an experiment must be at most %d bytes", yamlfile.Stdin, yamlfile.MaxSize)}
	case len(data) == 0:
		return nil, usageError{errors.New(yamlfile.Stdin + " is empty: - reads an experiment from standard input")}
	}
	a.typed = typed{read: true, data: data}
	return data, nil
}

// fileText returns the contents of the experiment file at path.
func (a *app) fileText(path string) ([]byte, error) {
	if path == stdinWord {
		return a.standardInput()
	}
	data, err := regularfile.Read(path, yamlfile.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("read experiment file: %w", err)
	}
	return data, nil
}

// readVariant reads an experiment file, or standard input, changed to variant v.
func (a *app) readVariant(path string, v config.Variant) (*config.Experiment, []yamlfile.Problem, error) {
	if path != stdinWord {
		return v.Read(path, a.registry.All())
	}
	data, err := a.standardInput()
	if err != nil {
		return nil, nil, err
	}
	e, warnings, err := v.Parse(cmp.Or(a.typed.name, yamlfile.Stdin), data, a.registry.All())
	if e != nil && a.typed.name == "" {
		e.Path = yamlfile.Stdin
	}
	return e, warnings, err
}

// nameOf returns the name of an experiment file for messages.
func nameOf(path string) string {
	if path == stdinWord {
		return yamlfile.Stdin
	}
	return path
}
