package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/analyze"
	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/pkg/config"
)

//go:embed quickstart.yaml
var quickstartFile []byte

func newQuickstart(a *app) *cobra.Command {
	var results string
	cmd := &cobra.Command{
		Use:   "quickstart",
		Short: "Benchmark three members of the embedded etcd on this machine, in under a minute",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.runQuickstart(cmd.Context(), results) },
	}
	cmd.Flags().StringVar(&results, "results", "", "folder to make the result folder in (default: results)")
	return cmd
}

// runQuickstart runs control --local and analyze on the built-in file.
func (a *app) runQuickstart(ctx context.Context, results string) error {
	e, _, err := config.Parse("quickstart.yaml", quickstartFile, control.Catalog(a.registry))
	if err != nil {
		return err
	}
	if results != "" {
		e.Results = results
	}
	out, err := a.conduct(ctx, e, controlFlags{local: true})
	var invalid *invalidError
	printFolders(a.out, out)
	if err != nil && !errors.As(err, &invalid) || len(out.Folders) == 0 {
		return err
	}
	if analyzeErr := a.printReport(ctx, analyze.Options{Folders: out.Folders, Plots: plotsOf(e.Plots)}, false, reportStore{}); analyzeErr != nil {
		return errors.Join(err, fmt.Errorf("analyze: %w", analyzeErr))
	}
	return err
}
