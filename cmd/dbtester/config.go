package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/control/before/forecast"
	"github.com/coreos/dbtester/pkg/config"
)

func newConfig(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check, show, migrate and start experiment files",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newConfigCheck(a),
		&cobra.Command{
			Use: "show FILE", Short: "Print an experiment file with every default filled in",
			Example: "  dbtester config show FILE",
			Args:    cobra.ExactArgs(1),
			RunE:    func(_ *cobra.Command, args []string) error { return a.runConfigShow(args[0]) },
		},
		newConfigMigrate(a),
		&cobra.Command{
			Use: "schema", Short: "Print the JSON Schema of experiment files, for editors",
			Example: "  dbtester config schema >experiment.schema.json",
			Args:    cobra.NoArgs,
			RunE:    func(*cobra.Command, []string) error { return a.runConfigSchema() },
		},
		&cobra.Command{
			Use: "init FILE", Short: "Write a starting experiment file",
			Example: "  dbtester config init experiment.yaml",
			Args:    cobra.ExactArgs(1),
			RunE:    func(_ *cobra.Command, args []string) error { return a.runConfigInit(args[0]) },
		},
	)
	return cmd
}

func newConfigCheck(a *app) *cobra.Command {
	var use []string
	var f format
	cmd := &cobra.Command{
		Use: "check FILE...", Short: "Report every error of experiment files, as file:line:col",
		Example: "  dbtester config check *.yaml\n  dbtester config check - <FILE\n  dbtester config check --format json FILE",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.runConfigCheck(args, use, f) },
	}
	f.register(cmd, usualFormats()...)
	cmd.Flags().StringArrayVar(&use, "use-version", nil, useVersionHelp)
	a.completeUse(cmd, nil)
	return cmd
}

func newConfigMigrate(a *app) *cobra.Command {
	var use []string
	cmd := &cobra.Command{
		Use: "migrate FILE", Short: "Print a classic experiment file in the compact form, with comments where something changed",
		Example: "  dbtester config migrate old.yaml >new.yaml",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.runConfigMigrate(args[0], use) },
	}
	cmd.Flags().StringArrayVar(&use, "use-version", nil, useVersionHelp)
	a.completeUse(cmd, nil)
	return cmd
}

func (a *app) runConfigMigrate(path string, use []string) error {
	e, warnings, err := a.readVariant(path, config.Variant{})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usageError{err}
	case err != nil:
		return err
	case !e.Classic:
		return usageError{fmt.Errorf("%s is in the compact form already", path)}
	}
	if err := useVersions(e, a.registry, use); err != nil {
		return err
	}
	text, err := config.Migrate(e, warnings, a.registry.All())
	if err != nil {
		return err
	}
	_, err = a.out.Write(text)
	return err
}

func (a *app) runConfigCheck(paths, use []string, f format) error {
	var errs []error
	all := []checkedFile{}
	for _, path := range paths {
		one := checkedFile{File: nameOf(path), Databases: []checkedDatabase{}}
		err := a.checkFile(path, use, &one)
		one.OK, one.Problems = err == nil, problemsOf(one.File, err)
		if one.OK && !f.machine() {
			one.print(a.out)
		}
		all, errs = append(all, one), append(errs, err)
	}
	if f.machine() {
		errs = append(errs, checkedListing(all).print(a.out, f))
	}
	return errors.Join(errs...)
}

// checkFile checks an experiment file, and records its contents.
func (a *app) checkFile(path string, use []string, one *checkedFile) error {
	e, err := a.readExperiment(path)
	if err != nil {
		return err
	}
	if err := useVersions(e, a.registry, use); err != nil {
		return err
	}
	if err = control.CheckBinaries(e, a.registry); err != nil {
		err = usageError{err}
	}
	// Agents on this machine usually use the cache of the current user.
	if err := errors.Join(err, a.checkReleases(e, cached(localFlags{}.localCache()))); err != nil {
		return err
	}
	here := forecast.Here(e.Results)
	here.Usually = true
	all := forecast.All(e, here)
	if err := checkFill(a.err, all); err != nil {
		return err
	}
	one.Duration = forecast.Total(e, all)
	for i, f := range all {
		one.Databases = append(one.Databases, checkedDatabase{e.Databases[i].Tag, slices.Concat([]string{}, f.Lines())})
	}
	return nil
}

func (a *app) runConfigShow(path string) error {
	e, err := a.readExperiment(path)
	if err != nil {
		return err
	}
	text, err := config.Show(e)
	if err != nil {
		return err
	}
	_, err = a.out.Write(text)
	return err
}

func (a *app) runConfigSchema() error {
	text, err := config.Schema(a.registry.All())
	if err != nil {
		return err
	}
	_, err = a.out.Write(text)
	return err
}

func (a *app) runConfigInit(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s already exists and was not changed", path)
	}
	if err != nil {
		return fmt.Errorf("write a starting experiment file: %w", err)
	}
	if _, err := f.Write(config.Starter(a.registry.All())); err != nil {
		f.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	fmt.Fprintf(a.out, "wrote %s\n", path)
	return nil
}
